-- What the services wrote while chat_bridge had migration 0001, feedback 0001 to 0003, inference 0001 to 0004 and
-- reporting 0001 to 0003: a conversation of two turns and an answer that is a turn of its own, with edits, emoji, a reply,
-- a judgement, a reaction that waits for its message, and an erasure. Vectors and what has a default are left out.
set search_path to chat_bridge, public;
insert into messages (
    tenant, project, message_id, conversation_id, turn_id, sender_id, sender_type, agent_id, content, truncated,
    about, occurred_at, repeated
) values
    ('acme', 'support', '1', 'c1', 't1', 'ann', 'human', NULL, NULL, 'false', NULL, '1767261630000000', 'true'),
    ('acme', 'support', '2', 'c1', 't1', 'bot', 'agent', 'bot', 'It opens at nine.', 'false', '{"track_id": "tr-1", "bundle_id": null, "agent_version": "7", "model": "m-1", "trace_id": "0af7"}', '1767261605000000', 'false'),
    ('acme', 'support', '3', 'c1', 't2', 'ann', 'human', NULL, NULL, 'false', NULL, '1767261660000000', 'false'),
    ('acme', 'support', '4', 'c1', 't2', 'bot', 'agent', 'bot', 'Then at ten.', 'false', '{"track_id": "tr-1", "bundle_id": null, "agent_version": "7", "model": "m-1", "trace_id": "0af7"}', '1767261665000000', 'false'),
    ('acme', 'support', '5', 'c1', '5', 'bot', 'agent', 'bot', 'And it closes at six.', 'false', NULL, '1767261690000000', 'false');
insert into parked (
    tenant, project, topic, event_id, original_message_id, record_key, value, cause, traceparent, log_time,
    parked_at
) values
    ('acme', 'support', 'chat.message.reaction.ingested', 'chat.message.reaction.ingested-2026-01-01T10:03:00Z', '99', convert_to('acme/support/c1', 'UTF8'), convert_to('{"topic": "chat.message.reaction.ingested", "eventId": "chat.message.reaction.ingested-2026-01-01T10:03:00Z", "conversationId": "c1", "occurredAt": "2026-01-01T10:03:00Z", "tenant": "acme", "project": "support", "userId": "ann", "userType": "human", "emoji": "\ud83d\udc4d", "messageId": "99", "unknown": {"a": "\\u0000 \u0000\u0000", "b": [NaN, 1], "c": -Infinity}}', 'UTF8'), 'chat.message.reaction.ingested:2:2', NULL, (extract(epoch from now()) * 1000000)::bigint, (extract(epoch from now()) * 1000000)::bigint);
set search_path to feedback, public;
insert into erasures (
    tenant, user_id, request_id, erased_at
) values
    ('acme', 'dave', 'r1', '1795314473643296');
insert into feedback (
    feedback_id, tenant, project, conversation_id, source, user_id, agent_id, source_id, feedback_type, origin,
    slots, live, reaction, revision, created_revision
) values
    ('01671573-2012-5f63-ac1b-80fecfa78898', 'acme', 'support', 'c1', 'inference', 'ann', '', '3:implicit', 'inferred', 'machine', '{"": {"stamp": [7, 1767261650000000, -1, false, "44b28c7e-0904-5d98-8715-2f4e694f2360", "dea188a3a1646cf60c17c44f2a1b5381"], "payload": {"tags": ["en.is_wrong", "en.no_correction"], "text": "No, that is wrong.", "emoji": null, "value": -1.0, "turn_id": "t1", "agent_id": "bot", "reaction": "not_ok", "user_type": "human", "confidence": 0.9, "correction": null, "provenance": {"model": null, "trace_id": null, "track_id": null, "bundle_id": null, "agent_version": null}, "causation_id": "44b28c7e-0904-5d98-8715-2f4e694f2360", "correction_type": "explicit", "agent_message_id": "2"}, "present": true}}', 'true', 'not_ok', '1795314471364', '1795314470371'),
    ('048d51c4-c1f7-591e-a85a-4597c4a2cc99', 'acme', 'support', 'c1', 'api', 'carol', '', 't2', 'explicit', 'user', '{"": {"stamp": [0, 1767261840000000, 1795314472403055, false, "5d819084-5433-4a86-b486-b4449f774c5f", "01954492ed3dbede463923a5652c5e81"], "payload": {"tags": ["polite"], "text": "Thank you.", "emoji": null, "value": 1.0, "turn_id": "t2", "agent_id": "bot", "reaction": "ok", "user_type": "human", "confidence": 1.0, "correction": null, "provenance": {"model": "m-1", "trace_id": "0af7", "track_id": "tr-1", "bundle_id": null, "agent_version": "7"}, "causation_id": "5d819084-5433-4a86-b486-b4449f774c5f", "correction_type": null, "agent_message_id": "4"}, "present": true}}', 'true', 'ok', '1795314472508', '1795314472508'),
    ('94a3744a-a658-5666-9f0a-7fc27d13b53c', 'acme', 'support', 'c1', 'chat', 'ann', 'bot', '4', 'reaction', 'user', '{"👎": {"stamp": [0, 1767261730000000, -1, false, "173efd7f-c16f-58b2-b867-a87e4c137450", "f5283005c7ed51a9c47446a30f5b4831"], "payload": {"tags": [], "text": null, "emoji": "👎", "value": -0.6, "turn_id": "t2", "agent_id": "bot", "reaction": "not_ok", "user_type": "human", "confidence": 1.0, "correction": null, "provenance": {"model": "m-1", "trace_id": "0af7", "track_id": "tr-1", "bundle_id": null, "agent_version": "7"}, "causation_id": "173efd7f-c16f-58b2-b867-a87e4c137450", "correction_type": null, "agent_message_id": "4"}, "present": true}}', 'true', 'not_ok', '1795314470371', '1795314470371'),
    ('b44286a5-3e07-5aac-9657-2e8e494c62e1', 'acme', 'support', 'c1', 'chat', 'bob', 'bot', '2', 'reaction', 'user', '{"👍": {"stamp": [0, 1767261720000000, -1, false, "0d2cd937-758f-5555-bd89-d0ce55717f00", "a748ced7803daa4d0fc2b1574286c1d3"], "payload": {"tags": [], "text": null, "emoji": "👍", "value": 0.6, "turn_id": "t1", "agent_id": "bot", "reaction": "ok", "user_type": "human", "confidence": 1.0, "correction": null, "provenance": {"model": "m-1", "trace_id": "0af7", "track_id": "tr-1", "bundle_id": null, "agent_version": "7"}, "causation_id": "0d2cd937-758f-5555-bd89-d0ce55717f00", "correction_type": null, "agent_message_id": "2"}, "present": true}}', 'true', 'ok', '1795314470371', '1795314470371'),
    ('cdf9e60a-061a-5154-a818-3c68ee4a78c1', 'acme', 'support', 'c1', 'chat', 'bob', 'bot', '6', 'implicit', 'user', '{"": {"stamp": [0, 1767261740000000, -1, false, "517c81d7-50a3-5590-b21c-106d31545e87", "43315358e0a7713b1541928bbc20e7f3"], "payload": {"tags": [], "text": "I see.", "emoji": null, "value": 0.4, "turn_id": "t2", "agent_id": "bot", "reaction": null, "user_type": "human", "confidence": 1.0, "correction": null, "provenance": {"model": "m-1", "trace_id": "0af7", "track_id": "tr-1", "bundle_id": null, "agent_version": "7"}, "causation_id": "517c81d7-50a3-5590-b21c-106d31545e87", "correction_type": null, "agent_message_id": "4"}, "present": true}}', 'true', NULL, '1795314470371', '1795314470371');
insert into turns (
    tenant, project, conversation_id, turn_id, agent_id, agent_message_id, agent_at, user_id, user_at, track_id,
    bundle_id, agent_version, model, trace_id
) values
    ('acme', 'support', 'c1', '5', 'bot', '5', '1767261690000000', NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    ('acme', 'support', 'c1', 't1', 'bot', '2', '1767261605000000', 'ann', '1767261600000000', 'tr-1', NULL, '7', 'm-1', '0af7'),
    ('acme', 'support', 'c1', 't2', 'bot', '4', '1767261665000000', 'ann', '1767261650000000', 'tr-1', NULL, '7', 'm-1', '0af7');
set search_path to inference, public;
insert into explicit_feedback (
    feedback_id, tenant, project, conversation_id, turn_id, user_id, status, said, tags, correction, at, revision
) values
    ('048d51c4-c1f7-591e-a85a-4597c4a2cc99', 'acme', 'support', 'c1', 't2', 'carol', 'accepted', 'Thank you.', '{polite}', NULL, '1767261840000000', '1795314472508');
insert into messages (
    tenant, project, message_id, conversation_id, turn_id, sender_id, role, agent_id, text, at, said_at, versions,
    emitted_turn_id, emitted_agent_id
) values
    ('acme', 'support', '1', 'c1', 't1', 'ann', 'human', NULL, 'When does it open?', '1767261600000000', '1767261630000000', '2', NULL, NULL),
    ('acme', 'support', '2', 'c1', 't1', 'bot', 'agent', 'bot', 'It opens at nine.', '1767261605000000', '1767261605000000', '1', NULL, NULL),
    ('acme', 'support', '3', 'c1', 't2', 'ann', 'human', NULL, 'No, that is wrong.', '1767261650000000', '1767261660000000', '2', 't1', 'bot'),
    ('acme', 'support', '4', 'c1', 't2', 'bot', 'agent', 'bot', 'Then at ten.', '1767261665000000', '1767261665000000', '1', NULL, NULL),
    ('acme', 'support', '5', 'c1', '5', 'bot', 'agent', 'bot', 'And it closes at six.', '1767261690000000', '1767261690000000', '1', NULL, NULL);
insert into turns (
    tenant, project, conversation_id, turn_id, user_id, user_message_id, user_text, user_order, agent_id,
    agent_message_id, assistant_text, assistant_said_at, intent, strategy, validation_outcome, quality_score,
    track_id, bundle_id, at, machine_status, machine_confidence, machine_detected_in, machine_message_id,
    explicit_status, explicit_feedback_id
) values
    ('acme', 'support', 'c1', '5', 'ann', '3', 'No, that is wrong.', '7', 'bot', '5', 'And it closes at six.', '1767261690000000', NULL, NULL, NULL, NULL, NULL, NULL, '1767261690000000', NULL, NULL, NULL, NULL, NULL, NULL),
    ('acme', 'support', 'c1', 't1', 'ann', '1', 'When does it open?', '1767261630000000', 'bot', '2', 'It opens at nine.', '1767261605000000', 'hours', 'look it up', NULL, '0.8', 'tr-1', NULL, '1767261600000000', 'rejected', '0.9', 't2', '3', NULL, NULL),
    ('acme', 'support', 'c1', 't2', 'ann', '3', 'No, that is wrong.', '1767261660000000', 'bot', '4', 'Then at ten.', '1767261665000000', 'hours', 'look it up', NULL, '0.8', 'tr-1', NULL, '1767261650000000', NULL, NULL, NULL, NULL, 'accepted', '048d51c4-c1f7-591e-a85a-4597c4a2cc99');
insert into verdicts (
    tenant, project, message_id, conversation_id, turn_id, detected_in_turn_id, status, confidence,
    correction_type, decided_by, announced, at, evaluation
) values
    ('acme', 'support', '1', 'c1', NULL, 't1', 'neutral', '0.5', NULL, 'rules', 'false', '1767261600000000', '7'),
    ('acme', 'support', '3', 'c1', 't1', 't2', 'rejected', '0.9', 'explicit', 'rules', 'true', '1767261650000000', '7');
set search_path to reporting, public;
insert into feedbacks (
    feedback_id, revision, recorded_at, slot, tenant, project, conversation_id, turn_id, user_id, user_type,
    agent_id, agent_message_id, origin, feedback_type, source, reaction, value, confidence, text, tags,
    correction, emoji, correction_type, occurred_at, rn, track_id, bundle_id, agent_version, model, trace_id
) values
    ('01671573-2012-5f63-ac1b-80fecfa78898', '1795314471364', '1795314471364000', '01671573-2012-5f63-ac1b-80fecfa78898', 'acme', 'support', 'c1', 't1', 'ann', 'human', 'bot', '2', 'machine', 'inferred', 'inference', 'not_ok', '-1', '0.9', 'No, that is wrong.', '{en.is_wrong,en.no_correction}', NULL, NULL, 'explicit', '1767261650000000', 'ef:acme:support:ann:c1:t1:artifact:01671573-2012-5f63-ac1b-80fecfa78898', NULL, NULL, NULL, NULL, NULL),
    ('048d51c4-c1f7-591e-a85a-4597c4a2cc99', '1795314472508', '1795314472508000', 'd752567b-d362-5e3b-b5be-db0c415f70e6', 'acme', 'support', 'c1', 't2', 'carol', 'human', 'bot', '4', 'user', 'explicit', 'api', 'ok', '1', '1', 'Thank you.', '{polite}', NULL, NULL, NULL, '1767261840000000', 'ef:acme:support:carol:c1:t2:artifact:048d51c4-c1f7-591e-a85a-4597c4a2cc99', 'tr-1', NULL, '7', 'm-1', '0af7'),
    ('94a3744a-a658-5666-9f0a-7fc27d13b53c', '1795314470371', '1795314470371000', '2ebf378e-3fe4-52cc-b9a7-af662e14ffc4', 'acme', 'support', 'c1', 't2', 'ann', 'human', 'bot', '4', 'user', 'reaction', 'chat', 'not_ok', '-0.6', '1', NULL, '{}', NULL, '👎', NULL, '1767261730000000', 'ef:acme:support:ann:c1:t2:artifact:94a3744a-a658-5666-9f0a-7fc27d13b53c', 'tr-1', NULL, '7', 'm-1', '0af7'),
    ('b44286a5-3e07-5aac-9657-2e8e494c62e1', '1795314470371', '1795314470371000', '94e018a6-28d0-5817-afd4-e113b4f4abfc', 'acme', 'support', 'c1', 't1', 'bob', 'human', 'bot', '2', 'user', 'reaction', 'chat', 'ok', '0.6', '1', NULL, '{}', NULL, '👍', NULL, '1767261720000000', 'ef:acme:support:bob:c1:t1:artifact:b44286a5-3e07-5aac-9657-2e8e494c62e1', 'tr-1', NULL, '7', 'm-1', '0af7');
insert into messages (
    tenant, project, message_id, conversation_id, turn_id, sender_type, sender_id, user_type, agent_id, content,
    occurred_at, sequence, intent, strategy, track_id, bundle_id
) values
    ('acme', 'support', '1', 'c1', 't1', 'human', 'ann', NULL, NULL, 'When does it open?', '1767261630000000', '-1', NULL, NULL, NULL, NULL),
    ('acme', 'support', '2', 'c1', 't1', 'agent', 'bot', NULL, 'bot', 'It opens at nine.', '1767261605000000', '-1', 'hours', 'look it up', 'tr-1', NULL),
    ('acme', 'support', '3', 'c1', 't2', 'human', 'ann', NULL, NULL, 'No, that is wrong.', '1767261660000000', '-1', NULL, NULL, NULL, NULL),
    ('acme', 'support', '4', 'c1', 't2', 'agent', 'bot', NULL, 'bot', 'Then at ten.', '1767261665000000', '-1', 'hours', 'look it up', 'tr-1', NULL),
    ('acme', 'support', '5', 'c1', '5', 'agent', 'bot', NULL, 'bot', 'And it closes at six.', '1767261690000000', '-1', NULL, NULL, NULL, NULL);
