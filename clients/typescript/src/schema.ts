// Made from the routes by `make docs`: do not edit.

/** The log holds the request: every service will carry it out, whatever happens. */
export interface AcceptedErasure {
  /** What to ask the status by. */
  request_id: string;
  /** The person to be erased. */
  user_id: string;
  /** Where the status is. */
  status_url: string;
}

/** The log holds it: it will be stored and announced under this id, whatever happens. */
export interface AcceptedFeedback {
  /** The feedback. */
  feedback_id: string;
  /** The time it counts for. */
  ts: string;
}

/** The agent's text in a turn; `message_id` is the last message's. */
export interface AgentText {
  /** The message. */
  message_id: string;
  /** The agent. */
  agent_id: string | null;
  /** What the agent answered. */
  text: string;
  /** When the last message of the answer was written. */
  ts: string;
}

/** `hosted_uri` is where the object store has the payload, null where it has none (yet). `user_id` is null after the person's erasure. `payload` comes when asked for. A changed artifact gets another `hosted_uri`; the object at the earlier one goes. */
export interface Artifact {
  /** The artifact's resource name. */
  id: string;
  /** artifact, for all of them. */
  role: "artifact";
  /** When it was said, or when the turn was. */
  ts: string;
  /** What it is: its kind, turn, origin and track. */
  tags: string[];
  /** The reaction or the turn's log, as JSON. */
  text: string;
  /** The person. */
  user_id: string | null;
  /** The conversation, also called thread. */
  conversation_id: string;
  /** The turn: a person's question and the agent's answer to it. */
  turn_id: string;
  /** The platform's track that the answer belongs to. */
  track_id: string | null;
  /** The platform's bundle that made the answer. */
  bundle_id: string | null;
  /** Where the object store has its payload; null where it has none, or not yet. */
  hosted_uri: string | null;
  /** The whole of it, where asked for. */
  payload: Record<string, unknown> | null;
}

export interface Artifacts {
  /** What was found. */
  items: Artifact[];
}

/** `scope` says which of `conversation_id` and `user_id` must be given; the other narrows further. Kinds and tags may be written with the old prefix `kind:`. */
export interface ArtifactsBody {
  /** Kinds to find; null finds all. */
  kinds?: string[] | null;
  /** Roles to find; null finds all. */
  roles?: string[] | null;
  /** Whether to look in one conversation or at one person. */
  scope?: "conversation" | "user";
  /** The conversation to look in. */
  conversation_id?: string | null;
  /** The person to look at. */
  user_id?: string | null;
  /** Tags that must all be there. */
  all_tags?: string[];
  /** How far back, in days from now. */
  days?: number;
  /** Bounds on the time; all must hold. */
  timestamp_filters?: MomentFilter[];
  /** `recency` is another name for `newest`. */
  sort?: "recency" | "newest" | "oldest";
  /** How many at most. */
  limit?: number;
  /** Whether to give the whole of each. */
  with_payload?: boolean;
}

/** Verdicts of one stretch of confidence, and how often people said the same. */
export interface Bin {
  /** From this confidence on, 0 to 1. */
  low: number;
  /** Below this confidence; 1 belongs to the last bin. */
  high: number;
  /** Pairs of a machine verdict and a person's. */
  pairs: number;
  /** Pairs with the same verdict. */
  agreeing: number;
  /** agreeing / pairs; a calibrated machine has its mean confidence. */
  agreement: number;
  /** Of the bin's pairs, 0 to 1. */
  mean_confidence: number;
}

export interface BucketFigures {
  /** user + machine + reviewer = ok + not_ok + neutral. */
  total: number;
  /** Given by people. */
  user: number;
  /** Inferred from what people wrote, and not reviewed. */
  machine: number;
  /** Given by reviewers, in place of the machine's verdicts. */
  reviewer: number;
  /** Satisfied. */
  ok: number;
  /** Not satisfied. */
  not_ok: number;
  /** Neither. */
  neutral: number;
  /** ok / (ok + not_ok + neutral); null without any. */
  satisfaction: number | null;
  /** Where the step begins, in UTC. */
  start: string;
}

/** Agreement of machine verdicts, overruled ones among them, with people. Each pair is a verdict and one person's effective reaction, or the review that counts, on the same turn. */
export interface Calibration {
  /** As in the path. */
  tenant: string;
  /** As in the path. */
  project: string;
  /** Of the machine's verdicts: from `start` on, before `end`. */
  window: Window;
  /** All pairs. */
  pairs: number;
  /** Pairs with the same verdict. */
  agreeing: number;
  /** `confusion[machine][person]` counts pairs. */
  confusion: Record<string, Record<string, number>>;
  /** Lowest confidence first; those without pairs are left out. */
  bins: Bin[];
  /** Lowest first, from the window's lowest confidence. */
  thresholds: Threshold[];
  /** Who gave these verdicts, the latest version first; at most 100. */
  detectors: OfDetector[];
}

export interface ConversationsInPeriod {
  /** The customer whose data this is. */
  tenant: string;
  /** The project within the tenant. */
  project: string;
  /** As asked; both ends belong to it. */
  window: Window;
  /** Newest activity first, at most 2 MiB of text. */
  items: PeriodItem[];
  /** Goes on after the last item; null at the end. */
  next_cursor: string | null;
}

/** total = user + machine + reviewer = ok + not_ok + neutral. */
export interface Counts {
  /** user + machine + reviewer = ok + not_ok + neutral. */
  total: number;
  /** Given by people. */
  user: number;
  /** Inferred from what people wrote, and not reviewed. */
  machine: number;
  /** Given by reviewers, in place of the machine's verdicts. */
  reviewer: number;
  /** Satisfied. */
  ok: number;
  /** Not satisfied. */
  not_ok: number;
  /** Neither. */
  neutral: number;
}

/** Verdict of a message, the turn that it concerns, and the text for the planner of the next answer. */
export interface Detected {
  /** What the message says. */
  feedback: FeedbackResult;
  /** The agent's message that it says it of. */
  target: FoundTarget | null;
  /** The turns that it may be about, the likeliest first. */
  candidates: FoundCandidate[];
  /** How many of the last answers were rejected one after the other. */
  rejections_in_a_row: number;
  /** A section for the planner's prompt; null if nothing was said of the last answer and no strategy is listed. */
  planner_markdown: string | null;
  /** True if the latest messages may be missing: they were not all indexed in time, and `previous` was not given. */
  answer_not_seen: boolean;
  /** Strategies that somebody said worked for such questions, best first; empty unless asked for. */
  strategies: FoundStrategy[];
}

/** The session has ended. This does not say that its rating was kept. */
export interface EndedSession {
  /** Always the same. */
  status?: "ended";
}

/** Progress of an erasure. */
export interface ErasureProgress {
  /** The request. */
  request_id: string;
  /** The person to be erased. */
  user_id: string;
  /** When it was asked for, in UTC. */
  requested_at: string;
  /** Whether every service has confirmed. */
  complete: boolean;
  /** The services that have confirmed. */
  receipts: ErasureReceipt[];
  /** The services that have not yet. */
  missing: ("chat_bridge" | "feedback" | "inference" | "reporting")[];
}

/** A service has removed what the person said from its store. */
export interface ErasureReceipt {
  /** Which service. */
  service: "chat_bridge" | "feedback" | "inference" | "reporting";
  /** When, in UTC. */
  confirmed_at: string;
  /** Rows that it changed or deleted. */
  removed: number;
}

/** One effective reaction. */
export interface FeedbackItem {
  /** The turn: a person's question and the agent's answer to it. */
  turn_id: string;
  /** When it was said, RFC 3339. */
  ts: string;
  /** What the person wrote. */
  text: string | null;
  /** What the person thinks of the answer: ok, not_ok or neutral. */
  reaction: "ok" | "not_ok" | "neutral";
  /** How sure it is that the person meant it, 0 to 1. */
  confidence: number;
  /** user: given on purpose. machine: read out of what a person wrote. */
  origin: "user" | "machine" | "reviewer";
  /** The feedback's resource name. */
  rn: string;
}

/** Verdict of the message on the answer before it. */
export interface FeedbackResult {
  /** rejected, accepted or neutral. */
  feedback_type: "rejected" | "accepted" | "neutral";
  /** How sure that is, 0 to 1, calibrated. */
  confidence: number;
  /** How the message rejects the answer, where it does: outright, by asking again, or by giving up. */
  correction_type: "explicit" | "rephrased" | "abandonment" | null;
  /** The message's text. */
  user_said: string;
  /** The same as a reaction; null where nothing is said. */
  reaction: "ok" | "not_ok" | null;
  /** What the gate takes the message for, where the rules of corrections abstain. */
  gate: "ok" | "not_ok" | "neutral";
  /** What decided: rules, the learned layer, or a language model. */
  decided_by: "rules" | "learned" | "llm";
  /** What the message does, in words: what the names in `rules` stand for. */
  reasons: string[];
  /** The patterns that fired, by name. */
  rules: string[];
  /** The sentence encoder that reads likely rejections again; null where words alone were read. */
  encoder: string | null;
  /** The learned layer's probabilities and what else was weighed, by name. */
  scores: Record<string, number>;
  /** Whether the message turns to something else: that sets the turn's status and is never announced. */
  new_topic: boolean;
  /** Whether it becomes a feedback once the chat publishes the message. */
  would_be_announced: boolean;
}

/** Counts, and satisfaction = ok / (ok + not_ok + neutral), null while there are none. */
export interface Figures {
  /** user + machine + reviewer = ok + not_ok + neutral. */
  total: number;
  /** Given by people. */
  user: number;
  /** Inferred from what people wrote, and not reviewed. */
  machine: number;
  /** Given by reviewers, in place of the machine's verdicts. */
  reviewer: number;
  /** Satisfied. */
  ok: number;
  /** Not satisfied. */
  not_ok: number;
  /** Neither. */
  neutral: number;
  /** ok / (ok + not_ok + neutral); null without any. */
  satisfaction: number | null;
}

/** One of the person's turns that the message may be about; the score as of a target. */
export interface FoundCandidate {
  /** The turn: a person's question and the agent's answer to it. */
  turn_id: string;
  /** The message. */
  message_id: string;
  /** The agent. */
  agent_id: string;
  /** 0.85 * similarity + 0.15 * recency. */
  score: number;
  /** How like the message that turn is, 0 to 1. */
  similarity: number;
  /** How recent that turn is, 0 to 1. */
  recency: number;
  /** How many turns back it lies; 1 is the last answer. */
  turns_back: number;
  /** What found it: the message's own reply, the latest answer to its writer in its thread, or in the channel, or words that an older answer alone holds. */
  rule: "named" | "thread" | "own_latest" | "older_named";
  /** The conversation, also called thread. */
  conversation_id: string;
}

/** One effective and live feedback. */
export interface FoundFeedback {
  /** Stays the same through every change of it. */
  feedback_id: string;
  /** The conversation it was given in. */
  conversation_id: string;
  /** The turn it is about. */
  turn_id: string;
  /** Who answered in that turn. */
  agent_id: string;
  /** The agent's version, where the platform said it. */
  agent_version: string | null;
  /** The language model, where the platform said it. */
  model: string | null;
  /** Whose verdict it is, or whose message the machine read. */
  user_id: string;
  /** `user`: a person judged. `machine`: read from what a person wrote. `reviewer`: a review. */
  origin: "user" | "machine" | "reviewer";
  /** `reaction` is an emoji, `explicit` a judgement. */
  feedback_type: "implicit" | "reaction" | "explicit" | "inferred";
  /** The verdict. */
  reaction: "ok" | "not_ok" | "neutral";
  /** The reward, -1 to 1. */
  value: number | null;
  /** 0 to 1; a person's own verdict has 1. */
  confidence: number;
  /** What the person wrote about it, or wrote next. */
  text: string | null;
  /** Reasons given with it. */
  tags: string[];
  /** What the answer should have been. */
  correction: string | null;
  /** How the machine saw the answer rejected. */
  correction_type: "explicit" | "rephrased" | "abandonment" | null;
  /** The emoji of a reaction. */
  emoji: string | null;
  /** Of a review: the machine's verdict, or the turn; else null. */
  reviews: string | null;
  /** Of a machine's verdict: the version of the detector. */
  detector: string | null;
  /** Of a machine's verdict: what in the detector decided. */
  decided_by: "rules" | "learned" | "llm" | null;
  /** When it was given. */
  ts: string;
}

/** One page, newest first, at most 2 MiB of text. With `text` a page looks through 10,000 feedbacks at most: it may be empty and yet have a `next_cursor`. */
export interface FoundFeedbacks {
  /** Effective and live feedbacks, newest first. */
  items: FoundFeedback[];
  /** Goes on after the last item; null at the end. */
  next_cursor: string | null;
}

export interface FoundStrategies {
  /** What was found. */
  items: FoundStrategy[];
}

/** A turn to learn from. */
export interface FoundStrategy {
  /** The conversation, also called thread. */
  conversation_id: string;
  /** The turn: a person's question and the agent's answer to it. */
  turn_id: string;
  /** When its last message was written. */
  ts: string | null;
  /** The person. */
  user_id: string | null;
  /** The agent. */
  agent_id: string | null;
  /** What the platform took the question for. */
  intent: string | null;
  /** How the agent went about the answer. */
  strategy: string | null;
  /** How the platform's own check of the answer ended. */
  validation_outcome: string | null;
  /** The platform's own score of the answer, 0 to 1. */
  quality_score: number | null;
  /** What is made of the answer: rejected, accepted or neutral. */
  user_feedback_status: "rejected" | "accepted" | "neutral";
  /** How sure that is, 0 to 1. */
  feedback_confidence: number;
  /** The outcome of the platform's check and the person's feedback in one number, -1 to 1. */
  satisfaction: number;
  /** Quality and feedback in one number, -0.4 to 0.8: quality_score * 0.6 + weight * 0.4. */
  ranking_score: number;
  /** How like the text its question is, 0 to 1; null where no text was searched for. */
  similarity: number | null;
}

/** The agent message a verdict is about: score = 0.85 * similarity + 0.15 * recency, each 0 to 1. */
export interface FoundTarget {
  /** The turn: a person's question and the agent's answer to it. */
  turn_id: string;
  /** The message. */
  message_id: string;
  /** The agent. */
  agent_id: string;
  /** 0.85 * similarity + 0.15 * recency. */
  score: number;
  /** How like the message that turn is, 0 to 1. */
  similarity: number;
  /** How recent that turn is, 0 to 1. */
  recency: number;
  /** How many turns back it lies; 1 is the last answer. */
  turns_back: number;
  /** What found it: the message's own reply, the latest answer to its writer in its thread, or in the channel, or words that an older answer alone holds. */
  rule: "named" | "thread" | "own_latest" | "older_named";
}

/** Outcome of the ingested lines. */
export interface Ingested {
  /** Lines that are in the log. */
  accepted: number;
  /** Lines that were not taken, the first 1,000 of them. */
  refused: RefusedEvent[];
  /** How many lines were not taken. */
  refused_total: number;
}

/** One item a turn, oldest change first, at most 2 MiB of text. */
export interface Latest {
  /** The conversation, also called thread. */
  conversation_id: string;
  /** What was found. */
  items: LatestItem[];
  /** Goes on after the last item; null at the end. */
  next_cursor: string | null;
  /** Ask with it next time: gives everything that these pages could not show, once or twice, never zero times. Null until the last page. */
  watermark: string | null;
}

/** Ask without `since` and `watermark` first, then with the answer's watermark for what was written meanwhile. */
export interface LatestBody {
  /** How many at most. */
  limit?: number;
  /** The page before's `next_cursor`; of another question it is refused with 400. */
  cursor?: string | null;
  /** Which turns; null: all. */
  turn_ids?: string[] | null;
  /** Only what was recorded after this moment. To miss nothing, use `watermark` instead: a feedback may be recorded first and become visible last. */
  since?: string | null;
  /** An earlier answer's: only what that answer could not show. */
  watermark?: string | null;
}

/** `recorded_at` is when the turn's feedback last changed; a null reaction was taken back. `turn_ts` is null while no message of the turn is known. */
export interface LatestItem {
  /** The turn: a person's question and the agent's answer to it. */
  turn_id: string;
  /** When the turn's last message was written. */
  turn_ts: string | null;
  /** The feedback. The same facts give the same id again. */
  feedback_id: string;
  /** The person. */
  user_id: string;
  /** When it was said, RFC 3339. */
  ts: string;
  /** When the feedback last changed. */
  recorded_at: string;
  /** What the person thinks of the answer; null where they took it back. */
  reaction: "ok" | "not_ok" | "neutral" | null;
  /** What the person wrote. */
  text: string | null;
  /** How sure it is that the person meant it, 0 to 1. */
  confidence: number;
  /** user: given on purpose. machine: read out of what a person wrote. */
  origin: "user" | "machine" | "reviewer";
  /** The feedback's resource name. */
  rn: string;
}

/** Stored ratings of a thread's ends. */
export interface MemoryStatus {
  /** The session's thread, which is the conversation's id. */
  thread_id: string;
  /** Ratings of this thread that the caller may count. */
  session_feedback_count: number;
}

export interface MomentFilter {
  /** How the time is compared. */
  op: "=" | "<>" | "<" | "<=" | ">" | ">=";
  /** The time to compare with, RFC 3339. */
  value: string;
}

/** `name` is null for feedback that says nothing about it. */
export interface NamedFigures {
  /** user + machine + reviewer = ok + not_ok + neutral. */
  total: number;
  /** Given by people. */
  user: number;
  /** Inferred from what people wrote, and not reviewed. */
  machine: number;
  /** Given by reviewers, in place of the machine's verdicts. */
  reviewer: number;
  /** Satisfied. */
  ok: number;
  /** Not satisfied. */
  not_ok: number;
  /** Neither. */
  neutral: number;
  /** ok / (ok + not_ok + neutral); null without any. */
  satisfaction: number | null;
  /** The agent, version or origin; null where not said. */
  name: string | null;
}

/** The verdicts of one version of the detector that one part of it decided. */
export interface OfDetector {
  /** The detector's version; null if release 0.1.0 judged. */
  detector: string | null;
  /** What decided; null if release 0.1.0 judged. */
  decided_by: "rules" | "learned" | "llm" | null;
  /** Verdicts, judged by people or not. */
  verdicts: number;
}

/** A person's effective reaction on a turn; everything from `reaction` on is null or empty where there is none. */
export interface OwnFeedback {
  /** The conversation, also called thread. */
  conversation_id: string;
  /** The turn: a person's question and the agent's answer to it. */
  turn_id: string;
  /** The person. */
  user_id: string;
  /** What the person thinks of the answer; null where they say nothing. */
  reaction?: "ok" | "not_ok" | "neutral" | null;
  /** implicit, reaction, explicit or inferred. */
  feedback_type?: "implicit" | "reaction" | "explicit" | "inferred" | null;
  /** What the person wrote. */
  text?: string | null;
  /** Short reasons that the person chose. */
  tags?: string[];
  /** What the answer should have been, in the person's words. */
  correction?: string | null;
  /** The emoji, where the feedback is one. */
  emoji?: string | null;
  /** When it was said, RFC 3339. */
  ts?: string | null;
}

/** Reactions given from `start` to `end`, both included. */
export interface PeriodBody {
  /** How many at most. */
  limit?: number;
  /** The page before's `next_cursor`; of another question it is refused with 400. */
  cursor?: string | null;
  /** From this moment on. */
  start: string;
  /** Up to and including this moment. */
  end: string;
  /** Give each turn with its reactions, too. */
  include_turns?: boolean;
}

/** A conversation with a reaction in the window. Counts and turns are of the window's reactions alone. */
export interface PeriodItem {
  /** The conversation, also called thread. */
  conversation_id: string;
  /** The window's newest reaction. */
  last_activity_at: string;
  /** The conversation's first message; null while none is known. */
  started_at: string | null;
  /** Reactions in the window. */
  feedback_counts: Counts;
  /** Turns with their reactions; empty unless asked for. */
  turns: PeriodTurn[];
  /** Reactions are left out: the conversation holds more than 1 MiB, the newest are kept. */
  turns_cut?: boolean;
}

/** `ts` is the time of the turn's newest reaction in the window. */
export interface PeriodTurn {
  /** The turn: a person's question and the agent's answer to it. */
  turn_id: string;
  /** When the newest reaction in the window was given. */
  ts: string;
  /** The effective reactions. */
  feedbacks: FeedbackItem[];
}

/** `low` and `high` bound the true satisfaction with 95 % confidence (Wilson). */
export interface RankedAgent {
  /** user + machine + reviewer = ok + not_ok + neutral. */
  total: number;
  /** Given by people. */
  user: number;
  /** Inferred from what people wrote, and not reviewed. */
  machine: number;
  /** Given by reviewers, in place of the machine's verdicts. */
  reviewer: number;
  /** Satisfied. */
  ok: number;
  /** Not satisfied. */
  not_ok: number;
  /** Neither. */
  neutral: number;
  /** ok / (ok + not_ok + neutral); null without any. */
  satisfaction: number | null;
  /** The agent. */
  agent_id: string;
  /** The true satisfaction is above, with 95 % confidence (Wilson). */
  low: number;
  /** The true satisfaction is below, with 95 % confidence (Wilson). */
  high: number;
  /** It has at least `min_votes` votes and is ranked. */
  enough: boolean;
}

/** Agents with at least `min_votes` come first, best lower bound first; the others follow, most votes first. */
export interface Ranking {
  /** As in the path. */
  tenant: string;
  /** As in the path. */
  project: string;
  /** From `start` on, before `end`. */
  window: Window;
  /** As asked. */
  min_votes: number;
  /** Ranked ones first, best lower bound first. */
  agents: RankedAgent[];
  /** Goes on after the last agent; null at the end. */
  next_cursor?: string | null;
}

/** Ratings of sessions. Skipped ratings count in no share. */
export interface Ratings {
  /** All of them: positive + negative + skipped. */
  sessions: number;
  /** Rated helpful. */
  positive: number;
  /** Rated not helpful. */
  negative: number;
  /** Asked, and not rated. */
  skipped: number;
  /** positive / (positive + negative); null without either. */
  share: number | null;
}

export interface RatingsOfLength {
  /** All of them: positive + negative + skipped. */
  sessions: number;
  /** Rated helpful. */
  positive: number;
  /** Rated not helpful. */
  negative: number;
  /** Asked, and not rated. */
  skipped: number;
  /** positive / (positive + negative); null without either. */
  share: number | null;
  /** Sessions of at least this many turns. */
  turns_from: number;
  /** And of at most this many; null for the longest. */
  turns_to: number | null;
}

export interface RatingsOfStep {
  /** All of them: positive + negative + skipped. */
  sessions: number;
  /** Rated helpful. */
  positive: number;
  /** Rated not helpful. */
  negative: number;
  /** Asked, and not rated. */
  skipped: number;
  /** positive / (positive + negative); null without either. */
  share: number | null;
  /** Where the step begins, in UTC. */
  start: string;
}

/** The same reaction as its artifact has it. */
export interface ReactionItem {
  /** The reaction itself. */
  reaction: ReactionValue;
  /** What it belongs to. */
  meta: ReactionMeta;
}

export interface ReactionMeta {
  /** The feedback's resource name. */
  rn: string;
  /** The turn: a person's question and the agent's answer to it. */
  turn_id: string;
  /** The platform's track that the answer belongs to. */
  track_id: string | null;
  /** Who the person is to the platform. */
  user_type: string;
  /** The artifact's kind. */
  kind?: string;
}

export interface ReactionValue {
  /** The turn: a person's question and the agent's answer to it. */
  turn_id: string;
  /** What the person wrote. */
  text: string | null;
  /** How sure it is that the person meant it, 0 to 1. */
  confidence: number;
  /** When it was said, RFC 3339. */
  ts: string;
  /** What the person thinks of the answer: ok, not_ok or neutral. */
  reaction: "ok" | "not_ok" | "neutral";
  /** user: given on purpose. machine: read out of what a person wrote. */
  origin: "user" | "machine" | "reviewer";
}

/** Number of effective feedbacks with a reason; one with several tags counts for each. */
export interface Reason {
  /** user + machine + reviewer = ok + not_ok + neutral. */
  total: number;
  /** Given by people. */
  user: number;
  /** Inferred from what people wrote, and not reviewed. */
  machine: number;
  /** Given by reviewers, in place of the machine's verdicts. */
  reviewer: number;
  /** Satisfied. */
  ok: number;
  /** Not satisfied. */
  not_ok: number;
  /** Neither. */
  neutral: number;
  /** The tag or correction type, as the search's `tag` takes it. */
  reason: string;
  /** `tag`: given by a person. `correction_type`: how the machine saw it rejected. `rule`: what in the message made it say so. */
  kind: "tag" | "correction_type" | "rule";
}

/** Most rejections first. */
export interface Reasons {
  /** As in the path. */
  tenant: string;
  /** As in the path. */
  project: string;
  /** From `start` on, before `end`. */
  window: Window;
  /** Most rejections first, then most feedbacks. */
  reasons: Reason[];
  /** Goes on after the last reason; null at the end. */
  next_cursor?: string | null;
}

/** Reason of a refusal, in one sentence. */
export interface Refusal {
  /** Why, in one sentence. */
  detail: string;
}

/** An event that was refused, over HTTP or from the log. */
export interface RefusedChatEvent {
  /** The event's topic; empty if it named none. */
  topic: string;
  /** The event's `eventId`; empty if it cannot be read. */
  event_id: string;
  /** The field that breaks the rule; empty if the rule is about none. */
  field: string;
  /** The rule, in words or as a short name. */
  rule: string;
  /** Number of times that the event was refused for this. */
  times: number;
  /** Time of the last refusal, RFC 3339. */
  refused_at: string;
}

/** Refused events of a project. */
export interface RefusedChatEvents {
  /** The latest first, at most 1000. */
  items: RefusedChatEvent[];
  /** True if there may be older ones. */
  truncated: boolean;
}

/** A line that was not taken, counted from 1. */
export interface RefusedEvent {
  /** The line's number, from 1. */
  line: number;
  /** A short name. */
  reason: string;
  /** In words, without the line's content. */
  detail: string;
}

/** Deliveries that a replay will send. */
export interface Replayed {
  /** Events that are sent again now: the dead and the waiting ones. */
  due: number;
}

/** Every filter that is given must match; none means every effective feedback of the project. */
export interface SearchBody {
  /** How many at most. */
  limit?: number;
  /** The page before's `next_cursor`; of another question it is refused with 400. */
  cursor?: string | null;
  /** Who answered. */
  agent_id?: string | null;
  /** The answering agent's version. */
  agent_version?: string | null;
  /** The language model behind the answer. */
  model?: string | null;
  /** The verdict. */
  reaction?: "ok" | "not_ok" | "neutral" | null;
  /** `user` for people, `machine` for inferred verdicts, `reviewer` for reviews. */
  origin?: "user" | "machine" | "reviewer" | null;
  /** `reaction`, `explicit` or `inferred`. */
  feedback_type?: "implicit" | "reaction" | "explicit" | "inferred" | null;
  /** A reason: a tag, or a machine's correction type. */
  tag?: string | null;
  /** At least this sure, 0 to 1. */
  min_confidence?: number | null;
  /** Part of the text or the correction, in any case. */
  text?: string | null;
  /** Whose verdict, or whose message the machine read. */
  user_id?: string | null;
  /** In this conversation alone. */
  conversation_id?: string | null;
  /** Verdicts of this version of the detector alone. */
  detector?: string | null;
  /** Verdicts that this part of the detector decided. */
  decided_by?: "rules" | "learned" | "llm" | null;
  /** Given from this moment on. */
  start?: string | null;
  /** Given up to and including this moment. */
  end?: string | null;
}

/** Of all projects of the tenant: a session names none. */
export interface SessionRatings {
  /** As in the path. */
  tenant: string;
  /** From `start` on, before `end`. */
  window: Window;
  /** The width of the steps. */
  bucket: "hour" | "day" | "week";
  /** Of the whole window. */
  totals: Ratings;
  /** By step of time; empty ones are left out. */
  buckets: RatingsOfStep[];
  /** By turns at the end; empty ones are left out. */
  by_length: RatingsOfLength[];
}

export interface SessionsBody {
  /** From this moment on; else 30 days before the end. */
  start?: string | null;
  /** Before this moment; else now. */
  end?: string | null;
  /** The width of a step over time, in UTC. */
  bucket?: "hour" | "day" | "week";
}

/** The outcome of a request, unless the platform expects another response (docs/sources.md). */
export interface SourceOutcome {
  /** published; ignored: nothing for us; refused: not understood, and the same if sent again. */
  outcome: string;
}

/** State of a receiver. */
export interface Standing {
  /** The endpoint's name in the file. */
  name: string;
  /** Events that are still to be handed over. */
  waiting: number;
  /** Events that were given up, until a replay. */
  dead: number;
  /** When the oldest of them came, in UTC; null for none. */
  oldest: string | null;
  /** Of those, the last failure: a status, `timeout`, `private_address` or an error's name. */
  last_answer: string | null;
}

/** The tenant's receivers. */
export interface Standings {
  /** One for each endpoint of the tenant, in the file's order. */
  endpoints: Standing[];
}

/** Empty buckets are left out; names with most feedback come first, at most 1,000 of each kind. */
export interface Summary {
  /** As in the path. */
  tenant: string;
  /** As in the path. */
  project: string;
  /** From `start` on, before `end`. */
  window: Window;
  /** The width of the steps. */
  bucket: "hour" | "day" | "week";
  /** Of the whole window. */
  totals: Figures;
  /** By step of time; empty ones are left out. */
  buckets: BucketFigures[];
  /** By agent, most feedback first. */
  by_agent: NamedFigures[];
  /** By agent version, most feedback first. */
  by_agent_version: NamedFigures[];
  /** People and machine. */
  by_origin: NamedFigures[];
}

/** Machine verdicts that would remain if only those of at least this confidence were announced. */
export interface Threshold {
  /** The least confidence, 0 to 1. */
  threshold: number;
  /** Machine verdicts at or above it, judged by people or not. */
  verdicts: number;
  /** Of those, pairs with a person's verdict. */
  pairs: number;
  /** Pairs with the same verdict. */
  agreeing: number;
  /** agreeing / pairs; null without pairs. */
  agreement: number | null;
}

/** The compact log of a turn: how its answer was made, as far as the platform said. */
export interface TurnLog {
  /** The turn: a person's question and the agent's answer to it. */
  turn_id: string;
  /** When the turn's last message was written. */
  ts: string;
  /** Messages of the turn. */
  messages: number;
  /** The agent. */
  agent_id: string | null;
  /** What the platform took the question for. */
  intent: string | null;
  /** How the agent went about the answer. */
  strategy: string | null;
  /** The platform's track that the answer belongs to. */
  track_id: string | null;
  /** The platform's bundle that made the answer. */
  bundle_id: string | null;
}

/** The metadata.json of a turn; where only feedback is known of it, the rest is null. */
export interface TurnMetadata {
  /** The conversation, also called thread. */
  conversation_id: string;
  /** The turn: a person's question and the agent's answer to it. */
  turn_id: string;
  /** When its last message was written. */
  ts: string | null;
  /** The person. */
  user_id: string | null;
  /** The agent. */
  agent_id: string | null;
  /** What the platform took the question for. */
  intent: string | null;
  /** How the agent went about the answer. */
  strategy: string | null;
  /** How the platform's own check of the answer ended. */
  validation_outcome: string | null;
  /** The platform's own score of the answer, 0 to 1. */
  quality_score: number | null;
  /** What is made of the answer: rejected, accepted or neutral. */
  user_feedback_status: "rejected" | "accepted" | "neutral";
  /** How sure that is, 0 to 1. */
  feedback_confidence: number;
  /** The outcome of the platform's check and the person's feedback in one number, -1 to 1. */
  satisfaction: number;
  /** Quality and feedback in one number, -0.4 to 0.8: quality_score * 0.6 + weight * 0.4. */
  ranking_score: number;
  /** The agent's message in that turn. */
  agent_message_id: string | null;
  /** The turn whose message rejected this one. */
  rejection_detected_in: string | null;
  /** How the person rejected the answer: explicitly, by asking again, or by giving up. */
  correction_type: string | null;
  /** The message that says so. */
  user_said: string | null;
  /** Short reasons that the person chose. */
  tags: string[];
  /** What the answer should have been, in the person's words. */
  correction: string | null;
  /** Whether the status is a person's own judgement, not read out of a message. */
  judged_by_user: boolean;
  /** The platform's track that the answer belongs to. */
  track_id: string | null;
  /** The platform's bundle that made the answer. */
  bundle_id: string | null;
  /** The conversation. */
  session_id: string;
  /** The same as `ts`. */
  timestamp: string | null;
  /** What is made of the answer, and where it was said. */
  user_feedback: UserFeedback;
}

export interface TurnWithFeedbacks {
  /** The turn: a person's question and the agent's answer to it. */
  turn_id: string;
  /** The person's question. */
  user: UserText | null;
  /** The agent's answer. */
  assistant: AgentText | null;
  /** The effective reactions. */
  feedbacks: FeedbackItem[];
  /** The same reactions in the form of artifacts. */
  reactions: ReactionItem[];
  /** How the answer was made. */
  turn_log: TurnLog | null;
  /** Something is left out: only the first 1 MiB of texts and the newest 1 MiB of reactions come. */
  cut?: boolean;
}

/** `turn_ids` null means every turn with feedback. */
export interface TurnsBody {
  /** How many at most. */
  limit?: number;
  /** The page before's `next_cursor`; of another question it is refused with 400. */
  cursor?: string | null;
  /** Which turns; null: every turn with feedback. */
  turn_ids?: string[] | null;
  /** How far back, in days from now. */
  days?: number;
}

/** `user_id` is the person who began the conversation; null if they were erased or no person's message is known. */
export interface TurnsWithFeedbacks {
  /** The person who began the conversation. */
  user_id: string | null;
  /** The conversation, also called thread. */
  conversation_id: string;
  /** In time order, at most 2 MiB of text. */
  turns: TurnWithFeedbacks[];
  /** Goes on after the last turn; null at the end. */
  next_cursor: string | null;
}

/** The person's feedback on a turn, for the strategy learner. */
export interface UserFeedback {
  /** rejected, accepted or neutral. */
  status: "rejected" | "accepted" | "neutral";
  /** When that was said; null where nobody has said anything. */
  detected_at: string | null;
  /** The turn whose message said it; null where the person reacted to the turn itself. */
  detected_in_turn: string | null;
  /** explicit_correction, rephrased_query or abandonment; null where the turn was not rejected. */
  correction_type: string | null;
  /** How sure it is that the person meant it, 0 to 1. */
  confidence: number;
  /** The message that says so. */
  user_said: string | null;
}

/** People's text in a turn; several messages are joined by an empty line. `user_id` is the first one's, null after the person's erasure. */
export interface UserText {
  /** The message. */
  message_id: string;
  /** The person. */
  user_id: string | null;
  /** What the person wrote. */
  text: string;
  /** When the last message of the question was written. */
  ts: string;
}

export interface Window {
  /** From this time on, RFC 3339. */
  start: string;
  /** Up to this time, RFC 3339. */
  end: string;
}

/** By method and path: the query, the body, and the answer where all went well. */
export interface Operations {
  "GET /health/live": {
    query: Record<string, unknown>;
    body: undefined;
    answer: Record<string, string>;
  };
  "GET /health/ready": {
    query: Record<string, unknown>;
    body: undefined;
    answer: Record<string, unknown>;
  };
  "GET /metrics": {
    query: Record<string, unknown>;
    body: undefined;
    answer: unknown;
  };
  "POST /ingest/{tenant}/{project}/events": {
    query: Record<string, unknown>;
    body: undefined;
    answer: Ingested;
  };
  "POST /sources/slack/events": {
    query: Record<string, unknown>;
    body: Record<string, unknown>;
    answer: SourceOutcome;
  };
  "POST /sources/webhooks/{source}": {
    query: Record<string, unknown>;
    body: Record<string, unknown>;
    answer: SourceOutcome;
  };
  "GET /conversations/{tenant}/{project}/refused": {
    query: {
      /** RFC 3339 with an offset; without it, all that are kept. */
      since?: string | null;
    };
    body: undefined;
    answer: RefusedChatEvents;
  };
  "POST /conversations/{tenant}/{project}/{conversation_id}/turns/{turn_id}/feedback": {
    query: Record<string, unknown>;
    body: {
      /** ok, not_ok or neutral; null takes the judgement back. */
      reaction: "ok" | "not_ok" | "neutral" | null;
      /** Why, in the person's own words. */
      text?: string | null;
      /** When it was said, RFC 3339 with an offset; else now. */
      ts?: string | null;
      /** Reasons, such as `wrong` or `too_long`. */
      tags?: string[];
      /** What the answer should have been. */
      correction?: string | null;
      /** Another person's judgement; needs the scope on_behalf. */
      user_id?: string | null;
    };
    answer: AcceptedFeedback;
  };
  "GET /conversations/{tenant}/{project}/{conversation_id}/turns/{turn_id}/feedback": {
    query: {
      /** Another person's; needs the scope on_behalf. */
      user_id?: string | null;
    };
    body: undefined;
    answer: OwnFeedback;
  };
  "POST /conversations/{tenant}/{project}/{conversation_id}/turns/{turn_id}/reviews": {
    query: Record<string, unknown>;
    body: {
      /** The `feedback_id` of the machine's verdict, if the machine has judged the turn. */
      verdict?: string | null;
      /** The right verdict: ok, not_ok or neutral, also if the machine said the same; null retracts the review, and the machine's verdict counts again. */
      reaction: "ok" | "not_ok" | "neutral" | null;
      /** Why, in the reviewer's own words. */
      text?: string | null;
      /** What the agent's answer should have been. */
      correction?: string | null;
    };
    answer: AcceptedFeedback;
  };
  "POST /api/threads/{thread_id}/end": {
    query: Record<string, unknown>;
    body: {
      /** positive, negative or skip; null records nothing. */
      feedback?: "positive" | "negative" | "skip" | null;
      /** Whose session, if not the caller's; scope on_behalf. */
      user_id?: string | null;
      /** For tokens of all tenants, if several have turns of the thread; else the token's, or that one. */
      tenant?: string | null;
      /** Where the rating was given: at a chat's `/end` or `/exit`, or elsewhere. */
      source?: "cli_end" | "cli_exit" | "api_end";
      /** Where the thread's turns are counted; else everywhere. */
      project?: string | null;
      /** Incognito: without the user, in this process's memory only, never announced. */
      memory_mode?: "local" | "synced" | "incognito";
      /** With the scope on_behalf, ratings of one person and thread count once for each key; else, and without a key, a person rates a thread once. */
      idempotency_key?: string | null;
    };
    answer: EndedSession;
  };
  "GET /api/memory/status": {
    query: {
      thread_id: string;
      /** For tokens of all tenants; else the token's. */
      tenant?: string | null;
    };
    body: undefined;
    answer: MemoryStatus;
  };
  "DELETE /tenants/{tenant}/users/{user_id}": {
    query: Record<string, unknown>;
    body: undefined;
    answer: AcceptedErasure;
  };
  "GET /tenants/{tenant}/erasures/{request_id}": {
    query: Record<string, unknown>;
    body: undefined;
    answer: ErasureProgress;
  };
  "POST /conversations/{tenant}/{project}/feedback/conversations-in-period": {
    query: Record<string, unknown>;
    body: PeriodBody;
    answer: ConversationsInPeriod;
  };
  "POST /conversations/{tenant}/{project}/feedback/search": {
    query: Record<string, unknown>;
    body: SearchBody;
    answer: FoundFeedbacks;
  };
  "POST /conversations/{tenant}/{project}/feedback/artifacts": {
    query: Record<string, unknown>;
    body: ArtifactsBody;
    answer: Artifacts;
  };
  "POST /conversations/{tenant}/{project}/{conversation_id}/turns-with-feedbacks": {
    query: Record<string, unknown>;
    body: TurnsBody;
    answer: TurnsWithFeedbacks;
  };
  "POST /conversations/{tenant}/{project}/{conversation_id}/feedback/latest": {
    query: Record<string, unknown>;
    body: LatestBody;
    answer: Latest;
  };
  "GET /conversations/{tenant}/{project}/feedback/summary": {
    query: {
      /** From this moment on; else 30 days before the end. */
      start?: string | null;
      /** Before this moment; else now. */
      end?: string | null;
      /** This agent alone. */
      agent_id?: string | null;
      /** This version alone. */
      agent_version?: string | null;
      /** `user` for people's, `machine` for inferred verdicts, `reviewer` for reviews. */
      origin?: "user" | "machine" | "reviewer" | null;
      /** The width of a step over time, in UTC. */
      bucket?: "hour" | "day" | "week";
    };
    body: undefined;
    answer: Summary;
  };
  "GET /conversations/{tenant}/{project}/feedback/agents": {
    query: {
      /** From this moment on; else 30 days before the end. */
      start?: string | null;
      /** Before this moment; else now. */
      end?: string | null;
      /** This agent alone. */
      agent_id?: string | null;
      /** This version alone. */
      agent_version?: string | null;
      /** `user` for people's, `machine` for inferred verdicts, `reviewer` for reviews. */
      origin?: "user" | "machine" | "reviewer" | null;
      /** How many at most. */
      limit?: number;
      /** The page before's `next_cursor`; of another question it is refused with 400. */
      cursor?: string | null;
      /** Votes from which on an agent is ranked. */
      min_votes?: number;
    };
    body: undefined;
    answer: Ranking;
  };
  "GET /conversations/{tenant}/{project}/feedback/calibration": {
    query: {
      /** From this moment on; else 30 days before the end. */
      start?: string | null;
      /** Before this moment; else now. */
      end?: string | null;
      /** This agent alone. */
      agent_id?: string | null;
      /** This version alone. */
      agent_version?: string | null;
      /** `user` for people's, `machine` for inferred verdicts, `reviewer` for reviews. */
      origin?: "user" | "machine" | "reviewer" | null;
      /** Verdicts of this version of the detector alone. */
      detector?: string | null;
      /** Verdicts that this part of the detector decided. */
      decided_by?: "rules" | "learned" | "llm" | null;
    };
    body: undefined;
    answer: Calibration;
  };
  "GET /conversations/{tenant}/{project}/feedback/reasons": {
    query: {
      /** From this moment on; else 30 days before the end. */
      start?: string | null;
      /** Before this moment; else now. */
      end?: string | null;
      /** This agent alone. */
      agent_id?: string | null;
      /** This version alone. */
      agent_version?: string | null;
      /** `user` for people's, `machine` for inferred verdicts, `reviewer` for reviews. */
      origin?: "user" | "machine" | "reviewer" | null;
      /** How many at most. */
      limit?: number;
      /** The page before's `next_cursor`; of another question it is refused with 400. */
      cursor?: string | null;
    };
    body: undefined;
    answer: Reasons;
  };
  "POST /conversations/{tenant}/sessions": {
    query: Record<string, unknown>;
    body: SessionsBody;
    answer: SessionRatings;
  };
  "GET /conversations/{tenant}/{project}/exports/{wanted}": {
    query: {
      /** Who answered. */
      agent_id?: string | null;
      /** The answering agent's version. */
      agent_version?: string | null;
      /** The language model behind the answer. */
      model?: string | null;
      /** The verdict. */
      reaction?: "ok" | "not_ok" | "neutral" | null;
      /** `user` for people, `machine` for inferred verdicts, `reviewer` for reviews. */
      origin?: "user" | "machine" | "reviewer" | null;
      /** `reaction`, `explicit` or `inferred`. */
      feedback_type?: "implicit" | "reaction" | "explicit" | "inferred" | null;
      /** A reason: a tag, or a machine's correction type. */
      tag?: string | null;
      /** At least this sure, 0 to 1. */
      min_confidence?: number | null;
      /** Part of the text or the correction, in any case. */
      text?: string | null;
      /** Whose verdict, or whose message the machine read. */
      user_id?: string | null;
      /** In this conversation alone. */
      conversation_id?: string | null;
      /** Verdicts of this version of the detector alone. */
      detector?: string | null;
      /** Verdicts that this part of the detector decided. */
      decided_by?: "rules" | "learned" | "llm" | null;
      /** Given from this moment on. */
      start?: string | null;
      /** Given up to and including this moment. */
      end?: string | null;
      /** Machine verdicts, too. Without it, and without `origin`, people's and reviewers'. */
      everyone?: boolean;
      /** `jsonl`, or `parquet` where pyarrow is installed. */
      file?: "jsonl" | "parquet";
    };
    body: undefined;
    answer: unknown;
  };
  "GET /tenants/{tenant}/webhooks": {
    query: Record<string, unknown>;
    body: undefined;
    answer: Standings;
  };
  "POST /tenants/{tenant}/webhooks/{endpoint}/replay": {
    query: Record<string, unknown>;
    body: undefined;
    answer: Replayed;
  };
  "GET /conversations/{tenant}/{project}/{conversation_id}/turns/{turn_id}/metadata": {
    query: Record<string, unknown>;
    body: undefined;
    answer: TurnMetadata;
  };
  "POST /conversations/{tenant}/{project}/strategies/search": {
    query: Record<string, unknown>;
    body: {
      /** Only turns whose question was taken for this. */
      intent?: string | null;
      /** Only this person's turns. */
      user_id?: string | null;
      /** Turns whose question is like this one come first. */
      text?: string | null;
      /** Only turns that this agent answered. */
      agent_id?: string | null;
      /** How many at most. */
      limit?: number;
    };
    answer: FoundStrategies;
  };
  "POST /conversations/{tenant}/{project}/{conversation_id}/detect": {
    query: Record<string, unknown>;
    body: {
      /** What was written, at most 10000 characters. */
      text: string;
      /** When, RFC 3339 with an offset; else now. */
      ts?: string | null;
      /** Its id, where the chat has one already. */
      message_id?: string | null;
      /** The turn it opens; else the message's id. */
      turn_id?: string | null;
      /** `user`: candidates among all of the person's turns. */
      look_back?: "conversation" | "user";
      /** Who wrote it; else the caller, or the last person who wrote there if the caller never did. */
      user_id?: string | null;
      /** The message that it replies to. */
      reply_to_message_id?: string | null;
      /** The thread that it stands in, inside the conversation. */
      thread_id?: string | null;
      /** The last answer, so that nothing waits for it to be indexed. */
      previous?: {
        /** Its id in the chat. */
        message_id: string;
        /** What was answered. */
        content: string;
        /** Its turn; else the message's id. */
        turn_id?: string | null;
        /** Who answered. */
        agent_id?: string | null;
        /** How the answer was reached. */
        strategy?: string | null;
        /** What it answers. */
        question?: string | null;
      } | null;
      /** How long to wait at most until the last answer is indexed, in seconds; else, and at most, `INFERENCE_INDEX_SECONDS`. */
      wait_seconds?: number | null;
      /** How many strategies to list that somebody said worked for such questions. */
      strategies?: number;
      /** List only strategies of questions taken for this. */
      intent?: string | null;
      /** Whose strategies to list; else those of the agent that answered last. */
      agent_id?: string | null;
    };
    answer: Detected;
  };
}
