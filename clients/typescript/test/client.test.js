/** Against a running stack (URL, TOKEN) that holds an exchange (CONVERSATION, turn t1), and servers that misbehave. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";

import { Client, FeedbackError } from "@agent-feedback/client";

const { URL: url, TOKEN: token, CONVERSATION: conversation } = process.env;
const client = new Client(url, { tenant: "acme", project: "support", token });

/** What `ask` gives as soon as it fits: what is sent is reported a moment later. */
async function until(ask, fits) {
  for (let attempt = 0; attempt < 200; attempt++) {
    const found = await ask();
    if (fits(found)) return found;
    await new Promise((done) => setTimeout(done, 50));
  }
  assert.fail("never came");
}

/** The address of a server that answers with `answer(request, response)`, for the length of `work`. */
async function against(answer, work) {
  const server = createServer(answer);
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  try {
    return await work(`http://127.0.0.1:${server.address().port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const refusal = (status) => (error) => error instanceof FeedbackError && error.status === status;
const saying = (message) => (error) => error instanceof FeedbackError && (assert.equal(error.message, message), true);

test("a judgement is given, read, searched, exported and taken back", async () => {
  const said = { text: "It opens at ten / „zehn“ 👎", tags: ["wrong"], correction: "At ten." };
  const given = await client.submitFeedback(conversation, "t1", "not_ok", said);
  const own = await until(() => client.ownFeedback(conversation, "t1"), (found) => found.reaction === "not_ok");
  assert.deepEqual([own.text, own.tags, own.correction], [said.text, said.tags, said.correction]);
  const found = await client.search({ conversation_id: conversation, reaction: "not_ok" });
  assert.deepEqual(found.items.map((one) => one.feedback_id), [given.feedback_id]);
  const changed = await client.latest(conversation, { turn_ids: null });
  assert.equal(changed.items[0].reaction, "not_ok");
  const rows = [];
  for await (const row of client.export("events", { conversation_id: conversation })) rows.push(row);
  assert.equal(rows.length, 1);
  const day = { start: "2020-01-01T00:00:00Z", end: "2100-01-01T00:00:00Z", include_turns: false, limit: 5 };
  const period = await client.period(day);
  assert.ok(period.items.some((item) => item.conversation_id === conversation));
  await client.clearFeedback(conversation, "t1");
  await until(() => client.ownFeedback(conversation, "t1"), (found) => found.reaction === null);
});

test("an agent asks before it plans", async () => {
  const detected = await client.detect(conversation, "No, that's wrong.");
  assert.equal(detected.feedback.feedback_type, "rejected");
  assert.ok(Array.isArray((await client.searchStrategies({ text: "When does it open?" })).items));
});

test("before planning one request answers, or null in time", async () => {
  const previous = { message_id: "in-hand", content: "At nine.", strategy: "lookup", agent_id: "bot" };
  const planned = (place) => client.beforePlanning("c-plan", "No, that's wrong.", { previous, user_id: "ann", ...place }, 20_000);
  const found = await planned({ reply_to_message_id: "in-hand" });
  assert.deepEqual([found.target.message_id, found.target.rule, found.strategies], ["in-hand", "named", []]);
  assert.equal((await planned({ thread_id: "th" })).target.rule, "thread");
  assert.match(found.planner_markdown, /choose another than lookup/);
  let asked = 0;
  const silent = () => asked++;
  const options = { tenant: "a", project: "b" };
  const began = performance.now();
  assert.equal(await against(silent, (there) => new Client(there, options).beforePlanning("c", "no")), null);
  assert.ok(asked <= 2 && performance.now() - began < 5_000);
  assert.equal(await new Client("nonsense", options).beforePlanning("c", "no"), null);
});

test("the first call of a process has time to connect", async () => {
  const addresses = [];
  const slowAtFirst = (request, response) => {
    addresses.push(request.url);
    const reply = () => response.end(JSON.stringify({ feedback: {} }));
    if (addresses.length === 1) setTimeout(reply, 300);
    else reply();
  };
  await against(slowAtFirst, async (there) => {
    const agent = new Client(there, { tenant: "a", project: "b" });
    assert.deepEqual(await agent.beforePlanning("c", "no", {}, 250), { feedback: {} });
    assert.deepEqual(await agent.beforePlanning("c", "no", {}, 250), { feedback: {} });
  });
  assert.deepEqual(addresses.map((address) => address.split("/").pop()), ["live", "detect", "detect"]);
});

test("events are sent and refused one by one", async () => {
  const event = {
    topic: "chat.message.ingested", eventId: crypto.randomUUID(), occurredAt: "2026-01-01T10:00:00Z",
    messageId: "m1", conversationId: "c/1 ü", senderId: "ann", senderType: "human", content: "Hello\nthere",
  };
  const answer = await client.ingest([event, { ...event, eventId: "e-2", content: "\u0000" }]);
  assert.deepEqual([answer.accepted, answer.refused.map((one) => one.line)], [1, [2]]);
  await assert.rejects(client.ingest([{ topic: "x" }]), TypeError);
});

test("a session ends with a rating", async () => {
  assert.equal((await client.endSession(conversation, "positive")).status, "ended");
  await until(() => client.memoryStatus(conversation), (found) => found.session_feedback_count === 1);
});

test("what is refused is one kind of error, without a word of what was sent", async () => {
  const stranger = new Client(url, { tenant: "acme", project: "support", token: "nobody's" });
  await assert.rejects(stranger.ownFeedback(conversation, "t1"), refusal(401));
  await assert.rejects(client.submitFeedback("nowhere", "t1", "ok", { text: "private words" }), (error) => {
    assert.ok(!String(error.stack).includes("private words"));
    return refusal(404)(error);
  });
  await assert.rejects(client.submitFeedback(conversation, "t1", "great"), (error) => error.status >= 400);
});

test("a refusal says why in the service's own sentence", async () => {
  await assert.rejects(client.submitFeedback("nowhere", "t1", "ok"), saying("404: No agent has answered on that turn."));
  const stranger = new Client(url, { tenant: "acme", project: "support", token: "nobody's" });
  await assert.rejects(stranger.search(), saying("401: A valid access token is needed."));
  const refusing = (body) => (_, response) => response.writeHead(422, { "content-length": body.length }).end(body);
  const asked = (there) => new Client(there, { tenant: "a", project: "b", tries: 1 }).search();
  const mute = "422: refused without a reason";
  for (const body of ["<html>", "", "null", "[]", '{"detail": [{"input": "words"}]}', '{"detail": {"a": 1}}', "[".repeat(100_000)]) {
    await assert.rejects(against(refusing(body), asked), saying(mute));
  }
  const broken = (_, response) => response.writeHead(422, { "content-length": 99 }).write("{", () => response.destroy());
  await assert.rejects(against(broken, asked), saying(mute));
  await assert.rejects(against(refusing(JSON.stringify({ detail: "x".repeat(9_999) })), asked), saying(`422: ${"x".repeat(500)}`));
});

test("where no answer came, the error names the origin and nothing else of the address", async () => {
  const options = { tenant: "a", project: "b", seconds: 0.2 };
  const asked = (there, more = {}) => new Client(there, { ...options, ...more }).search();
  await assert.rejects(asked("http://127.0.0.1:1/secret/"), saying("no answer from http://127.0.0.1:1 (TypeError)"));
  await assert.rejects(asked("http://ann:secret@127.0.0.1:1"), saying("no answer from http://127.0.0.1:1 (TypeError)"));
  await assert.rejects(asked("nonsense"), saying("no answer from what is no address (TypeError)"));
  await against(() => {}, (there) => assert.rejects(asked(there), saying(`no answer from ${there} within 0.2 s`)));
  const failing = { token: async () => { throw new Error("the secret"); } };
  await assert.rejects(asked("http://127.0.0.1:1", failing), saying("no token: what should fetch it failed"));
});

test("a token that is refused is fetched anew, once", async () => {
  const tokens = ["stale", token];
  const renewed = new Client(url, { tenant: "acme", project: "support", token: async () => tokens.shift() });
  assert.equal((await renewed.ownFeedback(conversation, "t1")).turn_id, "t1");
  let asked = 0;
  const never = new Client(url, { tenant: "acme", project: "support", token: () => (asked++, "stale") });
  await assert.rejects(never.ownFeedback(conversation, "t1"), refusal(401));
  assert.equal(asked, 2);
});

test("what is busy is asked again, and given up after the tries", async () => {
  let asked = 0;
  const busy = (_, response) => response.writeHead(++asked < 3 ? 503 : 200, { "retry-after": "0.01" }).end('{"items": []}');
  const options = { tenant: "a", project: "b", tries: 3 };
  await against(busy, (there) => new Client(there, options).search());
  assert.equal(asked, 3);
  asked = 0;
  const full = (_, response) => response.writeHead((asked++, 429), { "retry-after": "0.01" }).end();
  await assert.rejects(against(full, (there) => new Client(there, options).search()), refusal(429));
  assert.equal(asked, 3);
});

test("a service that is slow, wrong or gone rejects in time", async () => {
  const options = { tenant: "a", project: "b", seconds: 0.3 };
  const asked = (there, more = {}) => new Client(there, { ...options, ...more }).search();
  await assert.rejects(against(() => {}, (there) => asked(there)), refusal(0));
  const half = (_, response) => response.writeHead(200, { "content-length": "100" }).write('{"items":');
  await assert.rejects(against(half, (there) => asked(there)), refusal(0));
  await assert.rejects(against((_, response) => response.end("<html>"), (there) => asked(there)), refusal(0));
  await assert.rejects(against((request) => request.socket.destroy(), (there) => asked(there)), refusal(0));
  for (const answer of ["[]", "{}", '{"detail": "Hello"}', "null", "7", '"x"', "[".repeat(100_000)]) {
    await assert.rejects(against((_, response) => response.end(answer), (there) => asked(there)), refusal(0));
  }
  await assert.rejects(asked("http://127.0.0.1:1"), refusal(0));
  const never = { token: () => new Promise(() => {}) };
  await assert.rejects(asked("http://127.0.0.1:1", never), refusal(0));
  const stop = AbortSignal.timeout(50);
  await assert.rejects(
    against(() => {}, (there) => new Client(there, { ...options, seconds: 60 }).search({}, { signal: stop })),
    refusal(0),
  );
});

test("half a character, as a cut text ends in, is sent as a replacement", async () => {
  const given = await client.submitFeedback(conversation, "t1", "not_ok", { text: "cut 😂 \ud83d" });
  assert.ok(given.feedback_id);
  await until(() => client.ownFeedback(conversation, "t1"), (found) => found.text === "cut 😂 \ufffd");
});

test("an export that is cut off says so", async () => {
  const cut = (_, response) => response.end('{"a": 1}\n{"b":');
  const rows = [];
  await assert.rejects(
    against(cut, async (there) => {
      for await (const row of new Client(there, { tenant: "a", project: "b" }).export("kto")) rows.push(row);
    }),
    refusal(0),
  );
  assert.deepEqual(rows, [{ a: 1 }]);
});
