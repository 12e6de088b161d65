// Made from the routes by `make docs`: do not edit.

/** An erasure request that was written to the log. Every service will carry it out. */
export interface AcceptedErasure {
  /** The request's id, for requesting its status. */
  request_id: string;
  /** The person to be erased. */
  user_id: string;
  /** The path of the status. */
  status_url: string;
}

/** A judgement that was written to the log. It will be stored and announced under this id. */
export interface AcceptedFeedback {
  /** The feedback's id. */
  feedback_id: string;
  /** The effective time of the judgement. */
  ts: string;
}

/** Text that the agent wrote in a turn. `message_id` is the id of the agent's last message. */
export interface AgentText {
  /** The message. */
  message_id: string;
  /** The agent. */
  agent_id: string | null;
  /** The agent's text. */
  text: string;
  /** Time of the answer's last message. */
  ts: string;
}

/** Agreement between reviewers: drawn turns with reviews by two or more reviewers, among the newest 1,000 drawn. */
export interface Agreement {
  /** Number of these turns. */
  turns: number;
  /** Number of them on which all reviewers gave the same verdict. */
  agreeing: number;
  /** Lower bound of agreeing / turns, 0 to 1 (Wilson, 95 %). */
  low: number;
  /** Upper bound of agreeing / turns, 0 to 1. */
  high: number;
  /** The newest other turns, at most 20. */
  disagreements: SecondReview[];
}

/** An open or ended alert. */
export interface AlertShown {
  /** Name of the alert's rule. */
  rule: string;
  /** Kind of the alert's rule. */
  kind: string;
  /** The agent that the alert is about; null if it is about the project. */
  agent: string | null;
  /** The version of the agent that the alert is about; null for all versions. */
  version: string | null;
  /** The issue that the alert is about; null if it is not about an issue. */
  issue: number | null;
  /** Summary of the alert. */
  title: string;
  /** Start of the alert, in UTC. */
  opened_at: string;
  /** End of the alert, in UTC; null while it is open. */
  over_at: string | null;
  /** Path of the dashboard page with the turns of the alert. */
  path: string;
}

/** An artifact of a turn. `hosted_uri` is the URL of the payload in the object store, and null until the payload is stored there. When an artifact changes, it gets a new `hosted_uri` and the previous object is deleted. `user_id` is null if the person was erased. `payload` is null unless `with_payload` was set. */
export interface Artifact {
  /** The artifact's resource name. */
  id: string;
  /** Always `artifact`. */
  role: "artifact";
  /** Time of the reaction or of the turn. */
  ts: string;
  /** Kind, turn, origin and track of the artifact. */
  tags: string[];
  /** The reaction or the log of the turn, as JSON. */
  text: string;
  /** The person. */
  user_id: string | null;
  /** The conversation, also called thread. */
  conversation_id: string;
  /** The turn: a person's question and the agent's answer to it. */
  turn_id: string;
  /** The platform's track that the answer belongs to. */
  track_id: string | null;
  /** The platform's bundle that produced the answer. */
  bundle_id: string | null;
  /** URL of the payload in the object store; null until it is stored there. */
  hosted_uri: string | null;
  /** The complete content; null unless requested. */
  payload: Record<string, unknown> | null;
}

export interface Artifacts {
  /** The results. */
  items: Artifact[];
}

/** Search for artifacts. The scope `conversation` requires `conversation_id`, and `user_id` is an optional filter. The scope `user` requires `user_id`, and `conversation_id` is an optional filter. For compatibility with older clients, kinds and tags may start with `kind:`. */
export interface ArtifactsBody {
  /** Kinds to find; null for all. */
  kinds?: string[] | null;
  /** Roles to find; null for all. */
  roles?: string[] | null;
  /** Search in one conversation or for one person. */
  scope?: "conversation" | "user";
  /** The conversation to search. */
  conversation_id?: string | null;
  /** The person to search for. */
  user_id?: string | null;
  /** Tags; an artifact must have all of them. */
  all_tags?: string[];
  /** Length of the period up to now, in days. */
  days?: number;
  /** Conditions on the time; all must hold. */
  timestamp_filters?: MomentFilter[];
  /** `recency` is another name for `newest`. */
  sort?: "recency" | "newest" | "oldest";
  /** Maximum number of items in the response. */
  limit?: number;
  /** True to return each artifact's complete content. */
  with_payload?: boolean;
}

/** Accuracy of the machine's rejections, measured by reviews of randomly drawn answers. */
export interface Audit {
  /** The tenant in the path. */
  tenant: string;
  /** The project in the path. */
  project: string;
  /** Time window: `start` inclusive, `end` exclusive. */
  window: Window;
  /** Number of drawn answers that nobody has reviewed yet. */
  pending: number;
  /** Answers with a rejection by the machine: `share` is its precision. */
  precision: SampledShare;
  /** All other answers: 100 times `share` is the number of missed rejections per 100 of them. */
  missed: SampledShare;
  /** Agreement between reviewers; not limited to the window. */
  agreement: Agreement;
}

/** Agreement of people's verdicts with the machine verdicts in one confidence bin. */
export interface Bin {
  /** Lower bound of the confidence, inclusive, 0 to 1. */
  low: number;
  /** Upper bound, exclusive; the last bin includes 1. */
  high: number;
  /** Number of pairs of a machine verdict and a person's verdict. */
  pairs: number;
  /** Number of pairs with the same verdict. */
  agreeing: number;
  /** agreeing / pairs; ideally equal to the mean confidence. */
  agreement: number;
  /** Mean confidence of the bin's pairs, 0 to 1. */
  mean_confidence: number;
}

export interface BucketFigures {
  /** Number of reactions: user + machine + reviewer = ok + not_ok + neutral. */
  total: number;
  /** Number of people's reactions. */
  user: number;
  /** Number of verdicts inferred from messages and not replaced by a review. */
  machine: number;
  /** Number of reviewers' verdicts, which replace the machine's. */
  reviewer: number;
  /** Number of reactions that are ok. */
  ok: number;
  /** Number of reactions that are not_ok. */
  not_ok: number;
  /** Number of neutral reactions. */
  neutral: number;
  /** ok / (ok + not_ok + neutral), 0 to 1; null without reactions. */
  satisfaction: number | null;
  /** Start of the bucket, in UTC. */
  start: string;
}

/** Agreement between machine verdicts, including overruled ones, and people's verdicts. Each machine verdict is paired with a person's effective reaction to the same turn, or with the turn's effective review. */
export interface Calibration {
  /** The tenant in the path. */
  tenant: string;
  /** The project in the path. */
  project: string;
  /** Time window: `start` inclusive, `end` exclusive. */
  window: Window;
  /** Number of pairs. */
  pairs: number;
  /** Number of pairs with the same verdict. */
  agreeing: number;
  /** `confusion[machine][person]` counts pairs. */
  confusion: Record<string, Record<string, number>>;
  /** Confidence bins with pairs, lowest first. */
  bins: Bin[];
}

/** The holder of an access token, and the tenant, projects and scopes that the token grants access to. */
export interface CallerFacts {
  /** The holder, for example `member:ann`. */
  subject: string;
  /** The tenant; null for all tenants. */
  tenant: string | null;
  /** The projects; null for all projects of the tenant. */
  projects: string[] | null;
  /** The scopes. */
  scopes: string[];
  /** True if the holder is a person who gives feedback; false for colleagues and programs. */
  is_person: boolean;
}

/** A channel that the project's rules may use. */
export interface ChannelShown {
  /** Name of the channel. */
  name: string;
  /** Kind of the channel. */
  kind: "slack" | "teams" | "webhook";
  /** Number of the project's messages that will be retried. */
  waiting: number;
  /** Number of the project's messages that are not retried. */
  dead: number;
  /** Last failure of these messages: an HTTP status, `timeout`, `private_address` or the name of an error. */
  last_answer: string | null;
}

/** Verdicts on one side of a comparison. The interval is adjusted for clustering by person. */
export interface ComparedShare {
  /** Number of ok verdicts. */
  ok: number;
  /** Number of neutral verdicts. */
  neutral: number;
  /** Number of not_ok verdicts. */
  not_ok: number;
  /** ok / (ok + not_ok + neutral); null without verdicts. */
  satisfaction: number | null;
  /** Lower bound of the interval, 0 to 1. */
  low: number;
  /** Upper bound of the interval, 0 to 1. */
  high: number;
  /** Number of verdicts: ok + neutral + not_ok. */
  total: number;
  /** Effective sample size: the number of independent verdicts with the same information. It is estimated from at most the 3,000 newest verdicts. */
  effective_size: number;
}

/** One side of a comparison. */
export interface ComparedSide {
  /** The requested value. */
  value: string;
  /** People's verdicts. */
  people: ComparedShare;
  /** The machine's verdicts that no review has replaced. */
  machine: ComparedShare;
}

export interface ConversationsInPeriod {
  /** The tenant in the path. */
  tenant: string;
  /** The project in the path. */
  project: string;
  /** The requested window; both ends are inclusive. */
  window: Window;
  /** Conversations, newest activity first, at most 2 MiB of text. */
  items: PeriodItem[];
  /** Cursor of the next page; null on the last page. */
  next_cursor: string | null;
}

/** Counts of effective reactions by origin and by verdict. */
export interface Counts {
  /** Number of reactions: user + machine + reviewer = ok + not_ok + neutral. */
  total: number;
  /** Number of people's reactions. */
  user: number;
  /** Number of verdicts inferred from messages and not replaced by a review. */
  machine: number;
  /** Number of reviewers' verdicts, which replace the machine's. */
  reviewer: number;
  /** Number of reactions that are ok. */
  ok: number;
  /** Number of reactions that are not_ok. */
  not_ok: number;
  /** Number of neutral reactions. */
  neutral: number;
}

/** The verdict on a person's message, the agent message that is judged, and a section for the planner's prompt. */
export interface Detected {
  /** The verdict on the message. */
  feedback: FeedbackResult;
  /** The agent message that the verdict is about; null if there is none. */
  target: FoundTarget | null;
  /** The turns that the message may be about, most probable first. */
  candidates: FoundCandidate[];
  /** The number of consecutive rejected answers, up to and including the latest one. */
  rejections_in_a_row: number;
  /** A section for the planner's prompt; null if the last answer has no feedback and there are no strategies. */
  planner_markdown: string | null;
  /** True if the latest messages may be missing because they were not indexed yet and `previous` was not given. */
  answer_not_seen: boolean;
  /** Strategies that worked for similar questions, best first; empty unless requested. */
  strategies: FoundStrategy[];
}

/** Response to a request that ends a session. It does not reveal whether the rating was stored. */
export interface EndedSession {
  /** The status; always `ended`. */
  status?: "ended";
}

/** Progress of an erasure: the services that have confirmed it and those that have not. */
export interface ErasureProgress {
  /** The request's id. */
  request_id: string;
  /** The person to be erased. */
  user_id: string;
  /** Time of the request, in UTC. */
  requested_at: string;
  /** True if every service has confirmed. */
  complete: boolean;
  /** The services that have confirmed. */
  receipts: ErasureReceipt[];
  /** The services that have not confirmed. */
  missing: ("chat_bridge" | "feedback" | "inference" | "reporting")[];
}

/** Confirmation by a service that it has removed the person's data from its store. */
export interface ErasureReceipt {
  /** The service. */
  service: "chat_bridge" | "feedback" | "inference" | "reporting";
  /** Time of the confirmation, in UTC. */
  confirmed_at: string;
  /** Number of rows that the service changed or deleted. */
  removed: number;
}

/** Number of examples in an export, and of judged answers that it leaves out. */
export interface ExportCounts {
  /** The number of examples. */
  examples: number;
  /** The number of judged answers without an example, by reason. `answer_unknown`, `question_unknown`: the message is not known, or the question is deleted. `answer_empty`: the answer is deleted or has no text. `answer_edited`: it was edited after the verdict. `question_edited`: the question was edited after the answer. `question_uncertain`: the answer replies to a message that is unknown or empty, or an empty message of a person stands between question and answer. `neutral` (`kto`): the verdict is neutral. `not_rejected`, `no_better_answer` (`dpo`): the answer was not rejected; or there is neither a correction nor an accepted answer. `not_accepted` (`sft`): the answer was neither accepted nor corrected. */
  left_out: Record<string, number>;
}

/** Effective reaction: a verdict that counts for its turn. */
export interface FeedbackItem {
  /** The turn: a person's question and the agent's answer to it. */
  turn_id: string;
  /** The person's text. */
  text: string | null;
  /** Confidence that the person meant this verdict, 0 to 1. */
  confidence: number;
  /** Time of the feedback, RFC 3339. */
  ts: string;
  /** The verdict on the answer: ok, not_ok or neutral. */
  reaction: "ok" | "not_ok" | "neutral";
  /** `user` (a person), `machine` (inferred from a message) or `reviewer`. */
  origin: "user" | "machine" | "reviewer";
  /** The feedback's resource name. */
  rn: string;
}

/** The detector's verdict on a message that may be feedback on an earlier answer. */
export interface FeedbackResult {
  /** rejected, accepted or neutral. */
  feedback_type: "rejected" | "accepted" | "neutral";
  /** Estimated probability that the verdict is right, 0 to 1. See docs/detector.md for the measured rates. */
  confidence: number;
  /** The type of rejection: explicit, rephrased or abandonment; null if the verdict is not a rejection. */
  correction_type: "explicit" | "rephrased" | "abandonment" | null;
  /** The text of the message. */
  user_said: string;
  /** The verdict as a reaction; null if the message is not feedback. */
  reaction: "ok" | "not_ok" | null;
  /** The gate's classification of the message. */
  gate: "ok" | "not_ok" | "neutral";
  /** The part that decided: `rules`, the learned layer (`learned`), or a language model (`llm`). */
  decided_by: "rules" | "learned" | "llm";
  /** The deciding rule in words, as the predicate of a sentence about the message. */
  reasons: string[];
  /** The names of the patterns and rules that matched. */
  rules: string[];
  /** The reader that read the message with its answer; null if only patterns judged. */
  encoder: string | null;
  /** The numbers behind the verdict by name, such as the reader's probabilities. */
  scores: Record<string, number>;
  /** True if the message starts a new topic. This changes the turn's status, but is never announced. */
  new_topic: boolean;
  /** True if this verdict will be announced when the chat publishes the message. */
  would_be_announced: boolean;
}

/** Counts with satisfaction. */
export interface Figures {
  /** Number of reactions: user + machine + reviewer = ok + not_ok + neutral. */
  total: number;
  /** Number of people's reactions. */
  user: number;
  /** Number of verdicts inferred from messages and not replaced by a review. */
  machine: number;
  /** Number of reviewers' verdicts, which replace the machine's. */
  reviewer: number;
  /** Number of reactions that are ok. */
  ok: number;
  /** Number of reactions that are not_ok. */
  not_ok: number;
  /** Number of neutral reactions. */
  neutral: number;
  /** ok / (ok + not_ok + neutral), 0 to 1; null without reactions. */
  satisfaction: number | null;
}

/** An earlier turn that the message may be about, with the fields of a target. */
export interface FoundCandidate {
  /** The turn that the agent message belongs to: a person's question and the agent's answer. */
  turn_id: string;
  /** The id of the agent message. */
  message_id: string;
  /** The agent that wrote the message. */
  agent_id: string;
  /** The score of the target: 0.85 * similarity + 0.15 * recency. */
  score: number;
  /** Similarity between the target's turn and the new message, 0 to 1. */
  similarity: number;
  /** Recency of the target's turn, 0 to 1. */
  recency: number;
  /** Number of answers back, counted from 1 for the latest answer. */
  turns_back: number;
  /** The rule that selected the agent message. `named`: the person's message replies to it. `thread`, `own_latest`: it is the latest answer to the writer, in the thread or in the channel. `older_named`: the person's message contains words that occur only in this older answer. */
  rule: "named" | "thread" | "own_latest" | "older_named";
  /** The conversation, also called thread. */
  conversation_id: string;
}

/** Effective feedback record, or a reply to an answer. */
export interface FoundFeedback {
  /** Id of the record; it never changes. */
  feedback_id: string;
  /** The conversation. */
  conversation_id: string;
  /** The turn that the feedback is about. */
  turn_id: string;
  /** The agent that answered in that turn. */
  agent_id: string;
  /** The agent's version; null if unknown. */
  agent_version: string | null;
  /** The agent's language model; null if unknown. */
  model: string | null;
  /** The person who gave the verdict, or whose message the machine judged. */
  user_id: string;
  /** The platform's word for that person's role; `agent`: an AI critic. */
  user_type: string;
  /** `user`: a person's verdict. `machine`: inferred from a message. `reviewer`: a review. */
  origin: "user" | "machine" | "reviewer";
  /** `reaction`: an emoji. `explicit`: a judgement. `inferred`: a machine verdict. `implicit`: a reply, which is not a verdict: no share includes it. */
  feedback_type: "implicit" | "reaction" | "explicit" | "inferred";
  /** The verdict; null for a reply. */
  reaction: "ok" | "not_ok" | "neutral" | null;
  /** The reward, -1 to 1. */
  value: number | null;
  /** Confidence of the verdict, 0 to 1; 1 for a person's own verdict. */
  confidence: number;
  /** The person's comment or reply, or the message that the machine judged. */
  text: string | null;
  /** Reasons for the verdict. */
  tags: string[];
  /** The answer that the person wanted instead. */
  correction: string | null;
  /** The kind of rejection that the machine inferred. */
  correction_type: "explicit" | "rephrased" | "abandonment" | null;
  /** The emoji of a reaction. */
  emoji: string | null;
  /** Source: `chat`, `post` (comments on and reactions to an agent's posts and comments), `api`, `inference` or `review`. */
  source: string;
  /** For a review: the reviewed machine verdict or turn; otherwise null. */
  reviews: string | null;
  /** For a machine verdict: the detector's version. */
  detector: string | null;
  /** For a machine verdict: the part of the detector that decided. */
  decided_by: "rules" | "learned" | "llm" | null;
  /** The rating as the person gave it; null for other feedback. */
  rating: number | null;
  /** For a rating: the worst one of its scale. */
  worst_rating: number | null;
  /** For a rating: the best one of its scale, above or below the worst. */
  best_rating: number | null;
  /** Time of the verdict. */
  ts: string;
  /** The feedback's resource name. */
  rn: string;
}

/** One page of feedback records in the order of `sort`, with at most 2 MiB of text. If more than 3,000 texts contain the search `words`, a page scans at most 1,000 records. A page may therefore be empty and still have a `next_cursor`. */
export interface FoundFeedbacks {
  /** Feedback records in the order of `sort`. */
  items: FoundFeedback[];
  /** Cursor of the next page; null on the last page. */
  next_cursor: string | null;
}

export interface FoundStrategies {
  /** The results. */
  items: FoundStrategy[];
}

/** A turn whose strategy the planner may reuse. */
export interface FoundStrategy {
  /** The conversation, also called thread. */
  conversation_id: string;
  /** The turn: a person's question and the agent's answer. */
  turn_id: string;
  /** Time of the turn's earliest known message. */
  ts: string | null;
  /** The person who asked the question. */
  user_id: string | null;
  /** The agent that gave the answer. */
  agent_id: string | null;
  /** The platform's classification of the question. */
  intent: string | null;
  /** The strategy that the agent used for the answer. */
  strategy: string | null;
  /** The result of the platform's own validation of the answer. */
  validation_outcome: string | null;
  /** The quality of the answer as scored by the platform, 0 to 1. */
  quality_score: number | null;
  /** Verdict on the answer: rejected, accepted or neutral. */
  user_feedback_status: "rejected" | "accepted" | "neutral";
  /** Confidence of the verdict, 0 to 1. */
  feedback_confidence: number;
  /** A score from -1 to 1 that combines the platform's validation with the person's feedback. */
  satisfaction: number;
  /** A score from -0.4 to 0.8 that combines quality and feedback: quality_score * 0.6 + weight * 0.4. */
  ranking_score: number;
  /** Similarity between the turn's question and the searched text, 0 to 1; null if no text was given. */
  similarity: number | null;
}

/** The agent message that a verdict is about. */
export interface FoundTarget {
  /** The turn that the agent message belongs to: a person's question and the agent's answer. */
  turn_id: string;
  /** The id of the agent message. */
  message_id: string;
  /** The agent that wrote the message. */
  agent_id: string;
  /** The score of the target: 0.85 * similarity + 0.15 * recency. */
  score: number;
  /** Similarity between the target's turn and the new message, 0 to 1. */
  similarity: number;
  /** Recency of the target's turn, 0 to 1. */
  recency: number;
  /** Number of answers back, counted from 1 for the latest answer. */
  turns_back: number;
  /** The rule that selected the agent message. `named`: the person's message replies to it. `thread`, `own_latest`: it is the latest answer to the writer, in the thread or in the channel. `older_named`: the person's message contains words that occur only in this older answer. */
  rule: "named" | "thread" | "own_latest" | "older_named";
}

/** A choice about training on a person's data. */
export interface GivenChoice {
  /** False if no model may be trained on the person's messages and feedback. */
  allowed: boolean;
}

/** Result of a request: the number of accepted lines, and the rejected lines. */
export interface Ingested {
  /** Number of lines that the consumers accept. */
  accepted: number;
  /** The first 1,000 rejected lines. */
  refused: RefusedLine[];
  /** Number of rejected lines. */
  refused_total: number;
}

/** Issue, which is a group of an agent's rejected turns on one topic. */
export interface Issue {
  /** Id of the issue, which does not change while the issue grows. */
  id: number;
  /** The agent. */
  agent_id: string;
  /** Distinctive words of the issue's questions, most distinctive first. */
  words: string[];
  /** State of the issue: open, resolved, muted or regressed. */
  state: "open" | "resolved" | "muted" | "regressed";
  /** The version that resolved the issue. */
  resolved_in: string | null;
  /** Time of the last change of the state. */
  state_at: string;
  /** The person who works on the issue. */
  assignee: string | null;
  /** A note on the issue. */
  note: string | null;
  /** The issue into which this issue was merged; null if it was not merged. */
  merged_into: number | null;
  /** Number of rejected turns. */
  turns: number;
  /** Number of people who rejected an answer. */
  people: number;
  /** Time of the first rejection; null without turns. */
  first_at: string | null;
  /** Time of the last rejection. */
  last_at: string | null;
  /** Versions of the agent that gave the rejected answers. */
  versions: string[];
  /** Question of the turn nearest to the issue's centre; null if unknown, and for one issue. */
  typical_question: string | null;
  /** Number of rejected turns on each of the last 14 UTC days; the last one is today. */
  days: number[];
}

/** The new state, version, assignee and note of an issue. Omitted fields are cleared. */
export interface IssueBody {
  /** The state. `resolved` becomes `regressed` when people reject answers of the issue again. */
  state: "open" | "resolved" | "muted";
  /** The version of the agent that resolves the issue; null if all versions do from now on. */
  resolved_in?: string | null;
  /** The person who works on the issue. */
  assignee?: string | null;
  /** A note on the issue. */
  note?: string | null;
}

export interface IssueId {
  /** The issue. */
  id: number;
}

export interface IssueList {
  /** False if the server lacks the extra `issues`. */
  available: boolean;
  /** Number of rejected turns that belong to no issue yet. */
  waiting: number;
  /** Issues, most turns first. */
  items: Issue[];
}

export interface IssuePage {
  /** The issue. */
  issue: Issue;
  /** Turns of the issue, most typical first, at most 100. */
  turns: IssueTurn[];
}

/** Rejected turn of an issue. Long texts are truncated, and unknown texts are null. */
export interface IssueTurn {
  /** The conversation, also called thread. */
  conversation_id: string;
  /** The turn: a person's question and the agent's answer to it. */
  turn_id: string;
  /** The person. */
  user_id: string;
  /** True if a person rejected the answer, false if only the machine did. */
  by_person: boolean;
  /** Time of the rejection. */
  ts: string;
  /** The agent's version. */
  agent_version: string | null;
  /** The answer's trace. */
  trace_id: string | null;
  /** The person's question. */
  question: string | null;
  /** The agent's answer. */
  answer: string | null;
  /** The text of the rejection. */
  complaint: string | null;
}

/** Verdicts by people or by the machine, with satisfaction and its 95 % confidence interval (Wilson). */
export interface JudgedShare {
  /** Number of ok verdicts. */
  ok: number;
  /** Number of neutral verdicts. */
  neutral: number;
  /** Number of not_ok verdicts. */
  not_ok: number;
  /** ok / (ok + not_ok + neutral); null without verdicts. */
  satisfaction: number | null;
  /** Lower bound of the interval, 0 to 1. */
  low: number;
  /** Upper bound of the interval, 0 to 1. */
  high: number;
}

/** The latest feedback on each changed turn, oldest change first. A page has at most 2 MiB of text. */
export interface Latest {
  /** The conversation, also called thread. */
  conversation_id: string;
  /** Turns with their latest feedback. */
  items: LatestItem[];
  /** Cursor of the next page; null on the last page. */
  next_cursor: string | null;
  /** Send it with the next query to get all changes that these pages do not contain. A change may occur twice. Null except on the last page. */
  watermark: string | null;
}

/** Query for changes. Omit `since` and `watermark` in the first query. In later queries, send the `watermark` from the last response. */
export interface LatestBody {
  /** Maximum number of items in the response. */
  limit?: number;
  /** The previous page's `next_cursor`; a cursor of another query gives 400. */
  cursor?: string | null;
  /** Ids of the turns; null for all turns. */
  turn_ids?: string[] | null;
  /** Only changes recorded after this time. Some changes may be missed, because a record with an earlier time may become visible later. Use `watermark` to get all changes. */
  since?: string | null;
  /** The `watermark` of an earlier response: only changes that were not visible then. */
  watermark?: string | null;
}

/** The latest effective reaction to a turn. A null `reaction` means that all feedback on the turn was retracted. `recorded_at` is the time of the last change of any feedback on the turn. `turn_ts` is null if no message of the turn is known. */
export interface LatestItem {
  /** The turn: a person's question and the agent's answer to it. */
  turn_id: string;
  /** Time of the turn's last message. */
  turn_ts: string | null;
  /** Id of the feedback record; it is derived from the recorded facts. */
  feedback_id: string;
  /** The person. */
  user_id: string;
  /** Time of the feedback, RFC 3339. */
  ts: string;
  /** Time of the last change of any feedback on the turn. */
  recorded_at: string;
  /** The latest verdict that counts; null if all feedback was retracted. */
  reaction: "ok" | "not_ok" | "neutral" | null;
  /** The person's text. */
  text: string | null;
  /** Confidence that the person meant this verdict, 0 to 1. */
  confidence: number;
  /** `user` (a person), `machine` (inferred from a message) or `reviewer`. */
  origin: "user" | "machine" | "reviewer";
  /** The feedback's resource name. */
  rn: string;
}

/** Number of stored ratings of a thread. */
export interface MemoryStatus {
  /** The session's thread, which is the conversation's id. */
  thread_id: string;
  /** Number of the thread's ratings that the caller may count. */
  session_feedback_count: number;
}

export interface MergeBody {
  /** Issue of the same agent that gets all turns. */
  into: number;
}

export interface MomentFilter {
  /** Comparison operator. */
  op: "=" | "<>" | "<" | "<=" | ">" | ">=";
  /** The time to compare with, RFC 3339. */
  value: string;
}

/** Counts for one agent, version or origin. `name` is null for feedback without that field. */
export interface NamedFigures {
  /** Number of reactions: user + machine + reviewer = ok + not_ok + neutral. */
  total: number;
  /** Number of people's reactions. */
  user: number;
  /** Number of verdicts inferred from messages and not replaced by a review. */
  machine: number;
  /** Number of reviewers' verdicts, which replace the machine's. */
  reviewer: number;
  /** Number of reactions that are ok. */
  ok: number;
  /** Number of reactions that are not_ok. */
  not_ok: number;
  /** Number of neutral reactions. */
  neutral: number;
  /** ok / (ok + not_ok + neutral), 0 to 1; null without reactions. */
  satisfaction: number | null;
  /** The agent, version or origin; null if unknown. */
  name: string | null;
}

/** Rule that fires if a new issue affects many people. The alert ends when the issue is no longer open. */
export interface NewIssue {
  /** Name of the rule, unique in its project. */
  name: string;
  /** Names of the channels that get the rule's alerts. */
  channels?: string[];
  /** The only agent with tested issues; null for all agents. */
  agent?: string | null;
  /** Kind of the rule. */
  kind: "new_issue";
  /** Minimum number of affected people. */
  people?: number;
  /** Maximum age of the issue's first rejection, in days. */
  days?: number;
}

/** A person's effective reaction to a turn. If there is no reaction, the fields from `reaction` to `best_rating` are null or empty. */
export interface OwnFeedback {
  /** The conversation, also called thread. */
  conversation_id: string;
  /** The turn: a person's question and the agent's answer to it. */
  turn_id: string;
  /** The person. */
  user_id: string;
  /** The verdict; null without a reaction. */
  reaction?: "ok" | "not_ok" | "neutral" | null;
  /** `reaction` or `explicit`. */
  feedback_type?: "implicit" | "reaction" | "explicit" | "inferred" | null;
  /** The person's text. */
  text?: string | null;
  /** Reasons that the person chose. */
  tags?: string[];
  /** The correct answer, in the person's words. */
  correction?: string | null;
  /** The emoji, if the feedback is one. */
  emoji?: string | null;
  /** Time of the feedback, RFC 3339. */
  ts?: string | null;
  /** The feedback's resource name; null without a reaction. */
  rn?: string | null;
  /** The rating as the person gave it; null for other feedback. */
  rating?: number | null;
  /** For a rating: the worst one of its scale. */
  worst_rating?: number | null;
  /** For a rating: the best one of its scale, above or below the worst. */
  best_rating?: number | null;
}

/** Query for reactions from `start` to `end`, both inclusive. */
export interface PeriodBody {
  /** Maximum number of items in the response. */
  limit?: number;
  /** The previous page's `next_cursor`; a cursor of another query gives 400. */
  cursor?: string | null;
  /** Start of the period, inclusive. */
  start: string;
  /** End of the period, inclusive. */
  end: string;
  /** Also return the turns and their reactions. */
  include_turns?: boolean;
}

/** A conversation with reactions in the window. Counts and turns cover only the reactions in the window. */
export interface PeriodItem {
  /** The conversation, also called thread. */
  conversation_id: string;
  /** Time of the newest reaction in the window. */
  last_activity_at: string;
  /** Time of the first message; null if no message is known. */
  started_at: string | null;
  /** Numbers of reactions in the window. */
  feedback_counts: Counts;
  /** Turns with their reactions; empty unless `include_turns` is set. */
  turns: PeriodTurn[];
  /** True if `turns` has only the newest reactions, because all reactions exceed 1 MiB. */
  turns_cut?: boolean;
}

/** A turn with its reactions in the window. */
export interface PeriodTurn {
  /** The turn: a person's question and the agent's answer to it. */
  turn_id: string;
  /** Time of the newest reaction in the window. */
  ts: string;
  /** The effective reactions. */
  feedbacks: FeedbackItem[];
}

/** The alerts, rules and channels of a project. */
export interface ProjectAlertsState {
  /** The tenant in the path. */
  tenant: string;
  /** The project in the path. */
  project: string;
  /** Open alerts, then the others, newest first; at most 100. */
  alerts: AlertShown[];
  /** Rules, sorted by name. */
  rules: unknown[];
  /** Channels, sorted by name. */
  channels: ChannelShown[];
}

/** Verdicts on an agent. The agent is ranked either by people's verdicts or by machine verdicts. `satisfaction`, `low` and `high` are computed from the verdicts that rank the agent. */
export interface RankedAgent {
  /** Number of reactions: user + machine + reviewer = ok + not_ok + neutral. */
  total: number;
  /** Number of people's reactions. */
  user: number;
  /** Number of verdicts inferred from messages and not replaced by a review. */
  machine: number;
  /** Number of reviewers' verdicts, which replace the machine's. */
  reviewer: number;
  /** Number of reactions that are ok. */
  ok: number;
  /** Number of reactions that are not_ok. */
  not_ok: number;
  /** Number of neutral reactions. */
  neutral: number;
  /** The agent. */
  agent_id: string;
  /** People's verdicts. */
  people: JudgedShare;
  /** The machine's verdicts that no review has replaced. */
  inferred: JudgedShare;
  /** The side that ranks the agent: a side with at least `min_votes` verdicts. If both have enough, the side with the lower upper bound; null if neither has. */
  judged_by: "people" | "machine" | null;
  /** Satisfaction on that side: ok / (ok + not_ok + neutral), 0 to 1; null without verdicts. */
  satisfaction: number | null;
  /** Lower bound of the 95 % confidence interval of satisfaction (Wilson). */
  low: number;
  /** Upper bound of the 95 % confidence interval of satisfaction (Wilson). */
  high: number;
}

/** Agents by the upper confidence bound of their satisfaction, lowest first. An agent is ranked if it has at least `min_votes` verdicts by people or at least `min_votes` by the machine. The other agents come last, in the same order. */
export interface Ranking {
  /** The tenant in the path. */
  tenant: string;
  /** The project in the path. */
  project: string;
  /** Time window: `start` inclusive, `end` exclusive. */
  window: Window;
  /** The requested minimum number of verdicts. */
  min_votes: number;
  /** Agents, worst first. */
  agents: RankedAgent[];
}

/** Counts of session ratings. Skipped ratings do not affect `share`. */
export interface Ratings {
  /** Number of ratings: positive + negative + skipped. */
  sessions: number;
  /** Number of sessions rated helpful. */
  positive: number;
  /** Number of sessions rated not helpful. */
  negative: number;
  /** Number of sessions in which the person skipped the requested rating. */
  skipped: number;
  /** positive / (positive + negative); null if both are 0. */
  share: number | null;
}

export interface RatingsOfLength {
  /** Number of ratings: positive + negative + skipped. */
  sessions: number;
  /** Number of sessions rated helpful. */
  positive: number;
  /** Number of sessions rated not helpful. */
  negative: number;
  /** Number of sessions in which the person skipped the requested rating. */
  skipped: number;
  /** positive / (positive + negative); null if both are 0. */
  share: number | null;
  /** Minimum number of turns. */
  turns_from: number;
  /** Maximum number of turns; null for the longest sessions. */
  turns_to: number | null;
}

export interface RatingsOfStep {
  /** Number of ratings: positive + negative + skipped. */
  sessions: number;
  /** Number of sessions rated helpful. */
  positive: number;
  /** Number of sessions rated not helpful. */
  negative: number;
  /** Number of sessions in which the person skipped the requested rating. */
  skipped: number;
  /** positive / (positive + negative); null if both are 0. */
  share: number | null;
  /** Start of the bucket, in UTC. */
  start: string;
}

/** Reaction represented as an artifact. */
export interface ReactionItem {
  /** The reaction itself. */
  reaction: ReactionValue;
  /** The context of the reaction. */
  meta: ReactionMeta;
  /** The conversation, also called thread. */
  conversation_id: string;
  /** The platform's bundle that produced the answer. */
  bundle_id: string | null;
}

export interface ReactionMeta {
  /** The feedback's resource name. */
  rn: string;
  /** The turn: a person's question and the agent's answer to it. */
  turn_id: string;
  /** The platform's track that the answer belongs to. */
  track_id: string | null;
  /** The person's role on the platform. */
  user_type: string;
  /** The artifact's kind. */
  kind?: string;
}

export interface ReactionValue {
  /** The turn: a person's question and the agent's answer to it. */
  turn_id: string;
  /** The person's text. */
  text: string | null;
  /** Confidence that the person meant this verdict, 0 to 1. */
  confidence: number;
  /** Time of the feedback, RFC 3339. */
  ts: string;
  /** The verdict on the answer: ok, not_ok or neutral. */
  reaction: "ok" | "not_ok" | "neutral";
  /** `user` (a person), `machine` (inferred from a message) or `reviewer`. */
  origin: "user" | "machine" | "reviewer";
}

/** Number of effective feedback records with a reason. A record with several tags counts once for each tag. */
export interface Reason {
  /** Number of reactions: user + machine + reviewer = ok + not_ok + neutral. */
  total: number;
  /** Number of people's reactions. */
  user: number;
  /** Number of verdicts inferred from messages and not replaced by a review. */
  machine: number;
  /** Number of reviewers' verdicts, which replace the machine's. */
  reviewer: number;
  /** Number of reactions that are ok. */
  ok: number;
  /** Number of reactions that are not_ok. */
  not_ok: number;
  /** Number of neutral reactions. */
  neutral: number;
  /** The tag or correction type; usable as the search filter `tag`. */
  reason: string;
  /** `tag`: given by a person. `correction_type`: the kind of rejection that the machine inferred. */
  kind: "tag" | "correction_type";
}

/** Reasons in a time window, most rejections first. */
export interface Reasons {
  /** The tenant in the path. */
  tenant: string;
  /** The project in the path. */
  project: string;
  /** Time window: `start` inclusive, `end` exclusive. */
  window: Window;
  /** Reasons: most rejections first, then most feedback. */
  reasons: Reason[];
}

/** Response body of a refused request, with the reason in one sentence. */
export interface Refusal {
  /** The reason, in one sentence. */
  detail: string;
}

/** An event that was rejected by the HTTP route or by a consumer, or dropped by a source. */
export interface RefusedEvent {
  /** The reason's short name. */
  reason: string;
  /** The reason in words, without the event's content; or the source that dropped the event. */
  detail: string;
  /** The event's topic; empty if it named none. */
  topic: string;
  /** The event's `eventId`; empty if it cannot be read. */
  event_id: string;
  /** Number of times that the event was rejected for this reason. */
  times: number;
  /** Time of the last rejection, RFC 3339. */
  refused_at: string;
}

/** A rejected line of the request, and the reason for its rejection. */
export interface RefusedLine {
  /** The reason's short name. */
  reason: string;
  /** The reason in words, without the event's content; or the source that dropped the event. */
  detail: string;
  /** The line's number, from 1. */
  line: number;
}

/** The rejected events of a project. */
export interface RefusedList {
  /** At most 1000 events, the latest first. */
  items: RefusedEvent[];
  /** True if there may be older rejected events, which the list omits. */
  truncated: boolean;
}

/** Rule that fires if a resolved issue regresses. The alert ends when the issue is resolved again, muted or reopened. */
export interface RegressedIssue {
  /** Name of the rule, unique in its project. */
  name: string;
  /** Names of the channels that get the rule's alerts. */
  channels?: string[];
  /** The only agent with tested issues; null for all agents. */
  agent?: string | null;
  /** Kind of the rule. */
  kind: "regressed_issue";
}

/** Result of a replay. */
export interface Replayed {
  /** Number of dead and waiting events, which will all be sent now. */
  due: number;
}

/** Share of rejected answers in a random sample, with its 95 % confidence interval (Wilson). */
export interface SampledShare {
  /** Number of answers from which the sample was drawn. */
  answers: number;
  /** Number of these answers that were drawn at random and reviewed. */
  reviewed: number;
  /** Number of reviewed answers that the person rejected. */
  rejected: number;
  /** rejected / reviewed, 0 to 1; null without reviews. */
  share: number | null;
  /** Lower bound of the interval, 0 to 1. */
  low: number;
  /** Upper bound of the interval, 0 to 1. */
  high: number;
}

/** Rule that fires if satisfaction is significantly below a level. The upper bound of the always-valid confidence interval of satisfaction must be below the level. */
export interface SatisfactionBelow {
  /** Name of the rule, unique in its project. */
  name: string;
  /** Names of the channels that get the rule's alerts. */
  channels?: string[];
  /** The only agent to test; null for every agent. */
  agent?: string | null;
  /** Test each agent, or each version of each agent. */
  per?: "agent" | "version";
  /** Verdicts that count: people's or the machine's. */
  verdicts?: "people" | "machine";
  /** Number of tests: for each of the last days (UTC), one test of the verdicts since that day. */
  days?: number;
  /** Kind of the rule. */
  kind: "satisfaction_below";
  /** The level, between 0 and 1. */
  below: number;
}

/** Difference in satisfaction: b minus a. */
export interface SatisfactionDifference {
  /** Satisfaction with b minus satisfaction with a, -1 to 1; null if a side has no verdicts. */
  difference: number | null;
  /** Lower bound of the 95 % confidence interval (Newcombe). */
  low: number;
  /** Upper bound of the 95 % confidence interval (Newcombe). */
  high: number;
  /** Satisfaction with b compared with a: `higher`, `lower`, or `unclear` if the interval contains 0. */
  verdict: "higher" | "lower" | "unclear";
  /** The result in words. */
  sentence: string;
}

/** Rule that fires if satisfaction is significantly lower than in the preceding 28 days. A version is compared with all versions of its agent. */
export interface SatisfactionDropped {
  /** Name of the rule, unique in its project. */
  name: string;
  /** Names of the channels that get the rule's alerts. */
  channels?: string[];
  /** The only agent to test; null for every agent. */
  agent?: string | null;
  /** Test each agent, or each version of each agent. */
  per?: "agent" | "version";
  /** Verdicts that count: people's or the machine's. */
  verdicts?: "people" | "machine";
  /** Number of tests: for each of the last days (UTC), one test of the verdicts since that day. */
  days?: number;
  /** Kind of the rule. */
  kind: "satisfaction_dropped";
}

/** Number and mean of the ratings on one scale. */
export interface ScaleFigures {
  /** The worst rating of the scale. */
  worst_rating: number;
  /** The best rating of the scale. */
  best_rating: number;
  /** The number of ratings. */
  ratings: number;
  /** Mean of the ratings, on this scale. */
  mean: number;
}

/** Search filters. A record must match all of them. Without filters, all effective feedback and all replies match. */
export interface SearchBody {
  /** Maximum number of items in the response. */
  limit?: number;
  /** The previous page's `next_cursor`; a cursor of another query gives 400. */
  cursor?: string | null;
  /** The agent that answered. */
  agent_id?: string | null;
  /** The agent's version. */
  agent_version?: string | null;
  /** The agent's language model. */
  model?: string | null;
  /** The verdict. */
  reaction?: "ok" | "not_ok" | "neutral" | null;
  /** `user` for people, `machine` for inferred verdicts, `reviewer` for reviews. */
  origin?: "user" | "machine" | "reviewer" | null;
  /** `reaction`, `explicit`, `inferred`, `implicit` for replies, or `verdict` for all types except `implicit`. */
  feedback_type?: "implicit" | "reaction" | "explicit" | "inferred" | "verdict" | null;
  /** A reason: a tag, or a machine verdict's correction type. */
  tag?: string | null;
  /** Minimum confidence, 0 to 1. Rejections after long answers by the learned layer have at most 0.83. */
  min_confidence?: number | null;
  /** The person who gave the verdict, or whose message the machine judged. */
  user_id?: string | null;
  /** Only this conversation. */
  conversation_id?: string | null;
  /** Only machine verdicts of this detector version. */
  detector?: string | null;
  /** Only machine verdicts that this part of the detector decided. */
  decided_by?: "rules" | "learned" | "llm" | null;
  /** `person`, or `agent` for AI critics: feedback whose user type is `agent`. */
  given_by?: "person" | "agent" | null;
  /** `chat`, `post` for comments on and reactions to an agent's posts and comments, `api` for judgements, `inference` or `review`. */
  source?: "chat" | "post" | "api" | "inference" | "review" | null;
  /** Only verdicts on the turns of this issue. */
  issue?: number | null;
  /** The bundle that produced the answer. */
  bundle_id?: string | null;
  /** The track that the answer belongs to. */
  track_id?: string | null;
  /** The answer's intent. */
  intent?: string | null;
  /** The agent's strategy for the answer. */
  strategy?: string | null;
  /** The person's role on the platform. */
  user_type?: string | null;
  /** The thread of the answer. */
  thread?: string | null;
  /** Only machine verdicts, including overruled ones, on turns to which a person or reviewer gave this verdict. `any` stands for every verdict. */
  judged?: "ok" | "not_ok" | "neutral" | "any" | null;
  /** Only machine verdicts whose confidence is in this twentieth, 0 to 19. */
  confidence_bin?: number | null;
  /** Attributes of the answer, such as `language`, if REPORTING_ATTRIBUTES lists them; in a query string `attributes.language=de`. */
  attributes?: Record<string, unknown> | null;
  /** At most 10 words. All of them must be in the question, or all in the answer, or all in the text and correction. Case is ignored. A word also matches the beginning of a longer word. */
  words?: string | null;
  /** Earliest time of the reaction, inclusive. */
  start?: string | null;
  /** Latest time of the reaction, inclusive. */
  end?: string | null;
  /** Order by the time of the feedback. */
  sort?: "newest" | "oldest";
}

/** A sampled turn on which reviewers disagree. */
export interface SecondReview {
  /** The conversation. */
  conversation_id: string;
  /** The turn. */
  turn_id: string;
  /** Each reviewer and verdict, such as `ann: not_ok`. */
  reviews: string[];
}

/** Session ratings of a tenant. A session belongs to no project. */
export interface SessionRatings {
  /** The tenant in the path. */
  tenant: string;
  /** Time window: `start` inclusive, `end` exclusive. */
  window: Window;
  /** Width of the buckets. */
  bucket: "hour" | "day" | "week";
  /** Counts of the whole window. */
  totals: Ratings;
  /** Counts by time; empty buckets are left out. */
  buckets: RatingsOfStep[];
  /** Counts by number of turns; empty groups are left out. */
  by_length: RatingsOfLength[];
}

export interface SessionsBody {
  /** Start of the window, inclusive; by default 30 days before the end. */
  start?: string | null;
  /** End of the window, exclusive; by default now. */
  end?: string | null;
  /** Width of a bucket, in UTC. */
  bucket?: "hour" | "day" | "week";
}

/** Rule that fires if there are no verdicts, although there were enough in the same hours a week earlier. */
export interface Silence {
  /** Name of the rule, unique in its project. */
  name: string;
  /** Names of the channels that get the rule's alerts. */
  channels?: string[];
  /** Kind of the rule. */
  kind: "silence";
  /** The only agent to test; null for the whole project. */
  agent?: string | null;
  /** Length of the time without verdicts, in hours. */
  hours?: number;
  /** Minimum number of verdicts in the same hours of the week before. */
  least?: number;
}

/** Outcome of a request. Some platforms require a different response body (docs/sources.md). */
export interface SourceOutcome {
  /** published; ignored: no event that we use; refused: invalid, and invalid again if repeated. */
  outcome: string;
}

/** Satisfaction in a time window. The lists by agent, version and origin have at most 1,000 entries each. */
export interface Summary {
  /** The tenant in the path. */
  tenant: string;
  /** The project in the path. */
  project: string;
  /** Time window: `start` inclusive, `end` exclusive. */
  window: Window;
  /** Width of the buckets. */
  bucket: "hour" | "day" | "week";
  /** Counts of the whole window. */
  totals: Figures;
  /** Number of replies to answers. Replies are not verdicts: no other number includes them. */
  replies: number;
  /** Ratings by scale. They are verdicts, so the other numbers include them. */
  ratings: ScaleFigures[];
  /** Counts by time; empty buckets are left out. */
  buckets: BucketFigures[];
  /** Counts by agent, most feedback first. */
  by_agent: NamedFigures[];
  /** Counts by agent version, most feedback first. */
  by_agent_version: NamedFigures[];
  /** Counts by origin, most feedback first. */
  by_origin: NamedFigures[];
}

/** Metadata of a turn's answer. Fields are null if the platform did not provide them. */
export interface TurnLog {
  /** The turn: a person's question and the agent's answer to it. */
  turn_id: string;
  /** Time of the turn's last message. */
  ts: string;
  /** Number of messages in the turn. */
  messages: number;
  /** The agent. */
  agent_id: string | null;
  /** The platform's classification of the question. */
  intent: string | null;
  /** The agent's strategy for the answer. */
  strategy: string | null;
  /** The platform's track that the answer belongs to. */
  track_id: string | null;
  /** The platform's bundle that produced the answer. */
  bundle_id: string | null;
}

/** The metadata of a turn, in the format of metadata.json. Unknown values are null. */
export interface TurnMetadata {
  /** The conversation, also called thread. */
  conversation_id: string;
  /** The turn: a person's question and the agent's answer. */
  turn_id: string;
  /** Time of the turn's earliest known message. */
  ts: string | null;
  /** The person who asked the question. */
  user_id: string | null;
  /** The agent that gave the answer. */
  agent_id: string | null;
  /** The platform's classification of the question. */
  intent: string | null;
  /** The strategy that the agent used for the answer. */
  strategy: string | null;
  /** The result of the platform's own validation of the answer. */
  validation_outcome: string | null;
  /** The quality of the answer as scored by the platform, 0 to 1. */
  quality_score: number | null;
  /** Verdict on the answer: rejected, accepted or neutral. */
  user_feedback_status: "rejected" | "accepted" | "neutral";
  /** Confidence of the verdict, 0 to 1. */
  feedback_confidence: number;
  /** A score from -1 to 1 that combines the platform's validation with the person's feedback. */
  satisfaction: number;
  /** A score from -0.4 to 0.8 that combines quality and feedback: quality_score * 0.6 + weight * 0.4. */
  ranking_score: number;
  /** The id of the agent's message in the turn. */
  agent_message_id: string | null;
  /** The turn of the message that rejected this turn; null if no message rejected it. */
  rejection_detected_in: string | null;
  /** The type of rejection; null unless the turn was rejected. */
  correction_type: string | null;
  /** The text of the message that gave the feedback. */
  user_said: string | null;
  /** The reason tags chosen by the person. */
  tags: string[];
  /** The correct answer, in the person's words. */
  correction: string | null;
  /** True if a person's judgement or emoji determines the status; false if it is derived from a message. */
  judged_by_user: boolean;
  /** The platform's track that the answer belongs to. */
  track_id: string | null;
  /** The platform's bundle (application) that produced the answer. */
  bundle_id: string | null;
  /** The id of the conversation. */
  session_id: string;
  /** The time of the turn's earliest known message; the same as `ts`. */
  timestamp: string | null;
  /** The feedback on the answer, and where it comes from. */
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
  /** The same reactions as artifacts. */
  reactions: ReactionItem[];
  /** Summary of the answer's metadata. */
  turn_log: TurnLog | null;
  /** True if only the first 1 MiB of texts, or the newest 1 MiB of reactions, is included. */
  cut?: boolean;
}

/** Query for turns with feedback. */
export interface TurnsBody {
  /** Maximum number of items in the response. */
  limit?: number;
  /** The previous page's `next_cursor`; a cursor of another query gives 400. */
  cursor?: string | null;
  /** Ids of the turns; null for all turns with feedback. */
  turn_ids?: string[] | null;
  /** Length of the period up to now, in days. */
  days?: number;
}

/** A page of a conversation's turns with their reactions. `user_id` is the first person who sent a message. It is null if no person has sent a message, or if the person was erased. */
export interface TurnsWithFeedbacks {
  /** The first person who sent a message in the conversation. */
  user_id: string | null;
  /** The conversation, also called thread. */
  conversation_id: string;
  /** The turns in time order, at most 2 MiB of text. */
  turns: TurnWithFeedbacks[];
  /** Cursor of the next page; null on the last page. */
  next_cursor: string | null;
}

/** A person's feedback on a turn, in the format that the strategy learner reads. */
export interface UserFeedback {
  /** rejected, accepted or neutral. */
  status: "rejected" | "accepted" | "neutral";
  /** The time of the feedback; null if there is none. */
  detected_at: string | null;
  /** The turn of the message in which the feedback was detected; null if the person reacted to the turn itself. */
  detected_in_turn: string | null;
  /** explicit_correction, rephrased_query or abandonment; null unless the turn was rejected. */
  correction_type: string | null;
  /** Confidence of the feedback, 0 to 1. */
  confidence: number;
  /** The text of the message that gave the feedback. */
  user_said: string | null;
}

/** Text that people wrote in a turn. Several messages are joined with an empty line between them. `message_id` and `user_id` are those of the first message; `user_id` is null if that person has been erased. */
export interface UserText {
  /** The message. */
  message_id: string;
  /** The person. */
  user_id: string | null;
  /** The person's text. */
  text: string;
  /** Time of the question's first message. */
  ts: string;
}

/** Comparison of two values of a dimension. People's and the machine's verdicts are counted separately. */
export interface ValueComparison {
  /** The tenant in the path. */
  tenant: string;
  /** The project in the path. */
  project: string;
  /** Time window: `start` inclusive, `end` exclusive. */
  window: Window;
  /** The dimension. */
  by: string;
  /** The first value. */
  a: ComparedSide;
  /** The second value. */
  b: ComparedSide;
  /** Difference by people's verdicts. */
  people: SatisfactionDifference;
  /** Difference by the machine's verdicts. */
  machine: SatisfactionDifference;
}

/** Delivery state of a webhook endpoint. */
export interface WebhookStatus {
  /** The endpoint's name in the webhooks file. */
  name: string;
  /** Number of undelivered events that will be retried. */
  waiting: number;
  /** Number of undelivered events that are not retried until a replay. */
  dead: number;
  /** Arrival time of the oldest undelivered event, in UTC; null if there is none. */
  oldest: string | null;
  /** Result of the last failed attempt: an HTTP status, `timeout`, `private_address` or the name of an error. */
  last_answer: string | null;
}

/** Delivery states of all webhook endpoints of the tenant. */
export interface WebhookStatuses {
  /** State of each endpoint of the tenant, in the file's order. */
  endpoints: WebhookStatus[];
}

export interface Window {
  /** Start of the window, RFC 3339. */
  start: string;
  /** End of the window, RFC 3339. */
  end: string;
}

/** By method and path: the query, the request body, and the body of a successful response. */
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
  "GET /access/caller": {
    query: Record<string, unknown>;
    body: undefined;
    answer: CallerFacts;
  };
  "POST /ingest/{tenant}/{project}/events": {
    query: Record<string, unknown>;
    body: undefined;
    answer: Ingested;
  };
  "GET /conversations/{tenant}/{project}/refused": {
    query: {
      /** Earliest time of the rejections, RFC 3339 with an offset; by default all stored rejections are listed. */
      since?: string | null;
    };
    body: undefined;
    answer: RefusedList;
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
  "POST /conversations/{tenant}/{project}/{conversation_id}/turns/{turn_id}/feedback": {
    query: Record<string, unknown>;
    body: {
      /** ok, not_ok or neutral; null retracts the judgement. Must not be given together with `rating`. */
      reaction?: "ok" | "not_ok" | "neutral" | null;
      /** A rating from 1 to `scale`, instead of `reaction`; null retracts it. */
      rating?: number | null;
      /** The number of points of the scale of `rating`. */
      scale?: number | null;
      /** The reason, in the person's own words. */
      text?: string | null;
      /** The time, RFC 3339 with an offset; default: now. */
      ts?: string | null;
      /** Reasons, such as `wrong` or `too_long`. */
      tags?: string[];
      /** What the answer should have been. */
      correction?: string | null;
      /** The person, if not the caller; needs the scope on_behalf. */
      user_id?: string | null;
    };
    answer: AcceptedFeedback;
  };
  "GET /conversations/{tenant}/{project}/{conversation_id}/turns/{turn_id}/feedback": {
    query: {
      /** Another person's id; needs the scope on_behalf. */
      user_id?: string | null;
    };
    body: undefined;
    answer: OwnFeedback;
  };
  "POST /conversations/{tenant}/{project}/{conversation_id}/turns/{turn_id}/reviews": {
    query: Record<string, unknown>;
    body: {
      /** The `feedback_id` of the machine's verdict; null if the machine has not judged the turn. */
      verdict?: string | null;
      /** The correct verdict: ok, not_ok or neutral, even if it equals the machine's verdict; null retracts the review, so that the machine's verdict counts again. */
      reaction: "ok" | "not_ok" | "neutral" | null;
      /** The reason, in the reviewer's own words. */
      text?: string | null;
      /** What the agent's answer should have been. */
      correction?: string | null;
    };
    answer: AcceptedFeedback;
  };
  "POST /api/threads/{thread_id}/end": {
    query: Record<string, unknown>;
    body: {
      /** `positive`, `negative` or `skip`; null records no rating. */
      feedback?: "positive" | "negative" | "skip" | null;
      /** The person of the session, if not the caller; needs the scope on_behalf. */
      user_id?: string | null;
      /** The tenant, for a token of all tenants; by default the token's tenant. */
      tenant?: string | null;
      /** The interface in which the rating was given: a chat's `/end` (`cli_end`) or `/exit` (`cli_exit`), or another one. */
      source?: "cli_end" | "cli_exit" | "api_end";
      /** The project whose turns of the thread are counted; by default all projects. */
      project?: string | null;
      /** `incognito`: the rating is stored without the user, only in the process's memory, and never announced. */
      memory_mode?: "local" | "synced" | "incognito";
      /** With the scope on_behalf, one rating is stored for each key of a person and thread. Without the scope or without a key, a second rating of a person replaces the first, unless the thread has new turns and the first rating is older than a minute. */
      idempotency_key?: string | null;
    };
    answer: EndedSession;
  };
  "GET /api/memory/status": {
    query: {
      /** The session's thread, which is the conversation's id. */
      thread_id: string;
      /** The tenant, for a token of all tenants; by default the token's tenant. */
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
  "PUT /tenants/{tenant}/users/{user_id}/training": {
    query: Record<string, unknown>;
    body: GivenChoice;
    answer: unknown;
  };
  "GET /tenants/{tenant}/erasures/{request_id}": {
    query: Record<string, unknown>;
    body: undefined;
    answer: ErasureProgress;
  };
  "GET /conversations/{tenant}/{project}/{conversation_id}/turns/{turn_id}/metadata": {
    query: Record<string, unknown>;
    body: undefined;
    answer: TurnMetadata;
  };
  "POST /conversations/{tenant}/{project}/strategies/search": {
    query: Record<string, unknown>;
    body: {
      /** Only turns whose question has this intent. */
      intent?: string | null;
      /** Only turns of this person. */
      user_id?: string | null;
      /** A text; turns with similar questions come first. */
      text?: string | null;
      /** Only turns that this agent answered. */
      agent_id?: string | null;
      /** The maximum number of turns. */
      limit?: number;
    };
    answer: FoundStrategies;
  };
  "POST /conversations/{tenant}/{project}/{conversation_id}/detect": {
    query: Record<string, unknown>;
    body: {
      /** The text of the message, at most 10000 characters. */
      text: string;
      /** The time of the message, RFC 3339 with an offset; by default now. */
      ts?: string | null;
      /** The message's id, if the chat has already assigned one. If the message was published, its thread, its time, its writer and the message that it replies to are known. */
      message_id?: string | null;
      /** The turn that the message opens; by default the message's id. */
      turn_id?: string | null;
      /** `user`: search all of the person's turns for candidates. `conversation`: only the conversation. */
      look_back?: "conversation" | "user";
      /** The person who wrote the message. By default the writer of the published message; if it was not published, the caller if the caller has written in the conversation, otherwise the last person who did. */
      user_id?: string | null;
      /** The id of the message that it replies to. */
      reply_to_message_id?: string | null;
      /** The thread that contains the message, if any. */
      thread_id?: string | null;
      /** The agent's last answer, so that the request need not wait until the answer is indexed. */
      previous?: {
        /** The answer's message id in the chat. */
        message_id: string;
        /** The text of the answer. */
        content: string;
        /** The answer's turn; by default the message's id. */
        turn_id?: string | null;
        /** The agent that gave the answer. */
        agent_id?: string | null;
        /** The agent's strategy for the answer. */
        strategy?: string | null;
        /** The question that was answered. */
        question?: string | null;
      } | null;
      /** The maximum time to wait until the last answer is indexed, in seconds; by default and at most `INFERENCE_INDEX_SECONDS`. */
      wait_seconds?: number | null;
      /** The maximum number of strategies to list that worked for similar questions. */
      strategies?: number;
      /** List only strategies of questions with this intent. */
      intent?: string | null;
      /** The agent whose strategies are listed; by default the agent of the last answer. */
      agent_id?: string | null;
    };
    answer: Detected;
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
      /** The agent that answered. */
      agent_id?: string | null;
      /** The agent's version. */
      agent_version?: string | null;
      /** The agent's language model. */
      model?: string | null;
      /** The verdict. */
      reaction?: "ok" | "not_ok" | "neutral" | null;
      /** `user` for people, `machine` for inferred verdicts, `reviewer` for reviews. */
      origin?: "user" | "machine" | "reviewer" | null;
      /** `reaction`, `explicit`, `inferred`, `implicit` for replies, or `verdict` for all types except `implicit`. */
      feedback_type?: "implicit" | "reaction" | "explicit" | "inferred" | "verdict" | null;
      /** A reason: a tag, or a machine verdict's correction type. */
      tag?: string | null;
      /** Minimum confidence, 0 to 1. Rejections after long answers by the learned layer have at most 0.83. */
      min_confidence?: number | null;
      /** The person who gave the verdict, or whose message the machine judged. */
      user_id?: string | null;
      /** Only this conversation. */
      conversation_id?: string | null;
      /** Only machine verdicts of this detector version. */
      detector?: string | null;
      /** Only machine verdicts that this part of the detector decided. */
      decided_by?: "rules" | "learned" | "llm" | null;
      /** `person`, or `agent` for AI critics: feedback whose user type is `agent`. */
      given_by?: "person" | "agent" | null;
      /** `chat`, `post` for comments on and reactions to an agent's posts and comments, `api` for judgements, `inference` or `review`. */
      source?: "chat" | "post" | "api" | "inference" | "review" | null;
      /** Only verdicts on the turns of this issue. */
      issue?: number | null;
      /** The bundle that produced the answer. */
      bundle_id?: string | null;
      /** The track that the answer belongs to. */
      track_id?: string | null;
      /** The answer's intent. */
      intent?: string | null;
      /** The agent's strategy for the answer. */
      strategy?: string | null;
      /** The person's role on the platform. */
      user_type?: string | null;
      /** The thread of the answer. */
      thread?: string | null;
      /** Only machine verdicts, including overruled ones, on turns to which a person or reviewer gave this verdict. `any` stands for every verdict. */
      judged?: "ok" | "not_ok" | "neutral" | "any" | null;
      /** Only machine verdicts whose confidence is in this twentieth, 0 to 19. */
      confidence_bin?: number | null;
      /** Attributes of the answer, such as `language`, if REPORTING_ATTRIBUTES lists them; in a query string `attributes.language=de`. */
      attributes?: Record<string, unknown> | null;
      /** Start of the window, inclusive; by default 30 days before the end. */
      start?: string | null;
      /** End of the window, exclusive; by default now. */
      end?: string | null;
      /** Width of a bucket, in UTC. */
      bucket?: "hour" | "day" | "week";
    };
    body: undefined;
    answer: Summary;
  };
  "GET /conversations/{tenant}/{project}/feedback/agents": {
    query: {
      /** The agent that answered. */
      agent_id?: string | null;
      /** The agent's version. */
      agent_version?: string | null;
      /** The agent's language model. */
      model?: string | null;
      /** The verdict. */
      reaction?: "ok" | "not_ok" | "neutral" | null;
      /** `user` for people, `machine` for inferred verdicts, `reviewer` for reviews. */
      origin?: "user" | "machine" | "reviewer" | null;
      /** `reaction`, `explicit`, `inferred`, `implicit` for replies, or `verdict` for all types except `implicit`. */
      feedback_type?: "implicit" | "reaction" | "explicit" | "inferred" | "verdict" | null;
      /** A reason: a tag, or a machine verdict's correction type. */
      tag?: string | null;
      /** Minimum confidence, 0 to 1. Rejections after long answers by the learned layer have at most 0.83. */
      min_confidence?: number | null;
      /** The person who gave the verdict, or whose message the machine judged. */
      user_id?: string | null;
      /** Only this conversation. */
      conversation_id?: string | null;
      /** Only machine verdicts of this detector version. */
      detector?: string | null;
      /** Only machine verdicts that this part of the detector decided. */
      decided_by?: "rules" | "learned" | "llm" | null;
      /** `person`, or `agent` for AI critics: feedback whose user type is `agent`. */
      given_by?: "person" | "agent" | null;
      /** `chat`, `post` for comments on and reactions to an agent's posts and comments, `api` for judgements, `inference` or `review`. */
      source?: "chat" | "post" | "api" | "inference" | "review" | null;
      /** Only verdicts on the turns of this issue. */
      issue?: number | null;
      /** The bundle that produced the answer. */
      bundle_id?: string | null;
      /** The track that the answer belongs to. */
      track_id?: string | null;
      /** The answer's intent. */
      intent?: string | null;
      /** The agent's strategy for the answer. */
      strategy?: string | null;
      /** The person's role on the platform. */
      user_type?: string | null;
      /** The thread of the answer. */
      thread?: string | null;
      /** Only machine verdicts, including overruled ones, on turns to which a person or reviewer gave this verdict. `any` stands for every verdict. */
      judged?: "ok" | "not_ok" | "neutral" | "any" | null;
      /** Only machine verdicts whose confidence is in this twentieth, 0 to 19. */
      confidence_bin?: number | null;
      /** Attributes of the answer, such as `language`, if REPORTING_ATTRIBUTES lists them; in a query string `attributes.language=de`. */
      attributes?: Record<string, unknown> | null;
      /** Start of the window, inclusive; by default 30 days before the end. */
      start?: string | null;
      /** End of the window, exclusive; by default now. */
      end?: string | null;
      /** Maximum number of items in the response. */
      limit?: number;
      /** Minimum number of verdicts of one side (people or the machine). */
      min_votes?: number;
    };
    body: undefined;
    answer: Ranking;
  };
  "GET /conversations/{tenant}/{project}/feedback/compare": {
    query: {
      /** The agent that answered. */
      agent_id?: string | null;
      /** The agent's version. */
      agent_version?: string | null;
      /** The agent's language model. */
      model?: string | null;
      /** The verdict. */
      reaction?: "ok" | "not_ok" | "neutral" | null;
      /** `user` for people, `machine` for inferred verdicts, `reviewer` for reviews. */
      origin?: "user" | "machine" | "reviewer" | null;
      /** `reaction`, `explicit`, `inferred`, `implicit` for replies, or `verdict` for all types except `implicit`. */
      feedback_type?: "implicit" | "reaction" | "explicit" | "inferred" | "verdict" | null;
      /** A reason: a tag, or a machine verdict's correction type. */
      tag?: string | null;
      /** Minimum confidence, 0 to 1. Rejections after long answers by the learned layer have at most 0.83. */
      min_confidence?: number | null;
      /** The person who gave the verdict, or whose message the machine judged. */
      user_id?: string | null;
      /** Only this conversation. */
      conversation_id?: string | null;
      /** Only machine verdicts of this detector version. */
      detector?: string | null;
      /** Only machine verdicts that this part of the detector decided. */
      decided_by?: "rules" | "learned" | "llm" | null;
      /** `person`, or `agent` for AI critics: feedback whose user type is `agent`. */
      given_by?: "person" | "agent" | null;
      /** `chat`, `post` for comments on and reactions to an agent's posts and comments, `api` for judgements, `inference` or `review`. */
      source?: "chat" | "post" | "api" | "inference" | "review" | null;
      /** Only verdicts on the turns of this issue. */
      issue?: number | null;
      /** The bundle that produced the answer. */
      bundle_id?: string | null;
      /** The track that the answer belongs to. */
      track_id?: string | null;
      /** The answer's intent. */
      intent?: string | null;
      /** The agent's strategy for the answer. */
      strategy?: string | null;
      /** The person's role on the platform. */
      user_type?: string | null;
      /** The thread of the answer. */
      thread?: string | null;
      /** Only machine verdicts, including overruled ones, on turns to which a person or reviewer gave this verdict. `any` stands for every verdict. */
      judged?: "ok" | "not_ok" | "neutral" | "any" | null;
      /** Only machine verdicts whose confidence is in this twentieth, 0 to 19. */
      confidence_bin?: number | null;
      /** Attributes of the answer, such as `language`, if REPORTING_ATTRIBUTES lists them; in a query string `attributes.language=de`. */
      attributes?: Record<string, unknown> | null;
      /** Start of the window, inclusive; by default 30 days before the end. */
      start?: string | null;
      /** End of the window, exclusive; by default now. */
      end?: string | null;
      /** The dimension: `version`, `model`, `agent`, `strategy`, `bundle`, `track`, `intent`, `user_type`, or an attribute of the answers such as `attributes.language`. */
      by?: string;
      /** The first value, such as the older version. */
      a: string;
      /** The second value, such as the newer version. */
      b: string;
    };
    body: undefined;
    answer: ValueComparison;
  };
  "GET /conversations/{tenant}/{project}/feedback/calibration": {
    query: {
      /** The agent that answered. */
      agent_id?: string | null;
      /** The agent's version. */
      agent_version?: string | null;
      /** The agent's language model. */
      model?: string | null;
      /** The verdict. */
      reaction?: "ok" | "not_ok" | "neutral" | null;
      /** `user` for people, `machine` for inferred verdicts, `reviewer` for reviews. */
      origin?: "user" | "machine" | "reviewer" | null;
      /** `reaction`, `explicit`, `inferred`, `implicit` for replies, or `verdict` for all types except `implicit`. */
      feedback_type?: "implicit" | "reaction" | "explicit" | "inferred" | "verdict" | null;
      /** A reason: a tag, or a machine verdict's correction type. */
      tag?: string | null;
      /** Minimum confidence, 0 to 1. Rejections after long answers by the learned layer have at most 0.83. */
      min_confidence?: number | null;
      /** The person who gave the verdict, or whose message the machine judged. */
      user_id?: string | null;
      /** Only this conversation. */
      conversation_id?: string | null;
      /** Only machine verdicts of this detector version. */
      detector?: string | null;
      /** Only machine verdicts that this part of the detector decided. */
      decided_by?: "rules" | "learned" | "llm" | null;
      /** `person`, or `agent` for AI critics: feedback whose user type is `agent`. */
      given_by?: "person" | "agent" | null;
      /** `chat`, `post` for comments on and reactions to an agent's posts and comments, `api` for judgements, `inference` or `review`. */
      source?: "chat" | "post" | "api" | "inference" | "review" | null;
      /** Only verdicts on the turns of this issue. */
      issue?: number | null;
      /** The bundle that produced the answer. */
      bundle_id?: string | null;
      /** The track that the answer belongs to. */
      track_id?: string | null;
      /** The answer's intent. */
      intent?: string | null;
      /** The agent's strategy for the answer. */
      strategy?: string | null;
      /** The person's role on the platform. */
      user_type?: string | null;
      /** The thread of the answer. */
      thread?: string | null;
      /** Only machine verdicts, including overruled ones, on turns to which a person or reviewer gave this verdict. `any` stands for every verdict. */
      judged?: "ok" | "not_ok" | "neutral" | "any" | null;
      /** Only machine verdicts whose confidence is in this twentieth, 0 to 19. */
      confidence_bin?: number | null;
      /** Attributes of the answer, such as `language`, if REPORTING_ATTRIBUTES lists them; in a query string `attributes.language=de`. */
      attributes?: Record<string, unknown> | null;
      /** Start of the window, inclusive; by default 30 days before the end. */
      start?: string | null;
      /** End of the window, exclusive; by default now. */
      end?: string | null;
    };
    body: undefined;
    answer: Calibration;
  };
  "GET /conversations/{tenant}/{project}/feedback/reasons": {
    query: {
      /** The agent that answered. */
      agent_id?: string | null;
      /** The agent's version. */
      agent_version?: string | null;
      /** The agent's language model. */
      model?: string | null;
      /** The verdict. */
      reaction?: "ok" | "not_ok" | "neutral" | null;
      /** `user` for people, `machine` for inferred verdicts, `reviewer` for reviews. */
      origin?: "user" | "machine" | "reviewer" | null;
      /** `reaction`, `explicit`, `inferred`, `implicit` for replies, or `verdict` for all types except `implicit`. */
      feedback_type?: "implicit" | "reaction" | "explicit" | "inferred" | "verdict" | null;
      /** A reason: a tag, or a machine verdict's correction type. */
      tag?: string | null;
      /** Minimum confidence, 0 to 1. Rejections after long answers by the learned layer have at most 0.83. */
      min_confidence?: number | null;
      /** The person who gave the verdict, or whose message the machine judged. */
      user_id?: string | null;
      /** Only this conversation. */
      conversation_id?: string | null;
      /** Only machine verdicts of this detector version. */
      detector?: string | null;
      /** Only machine verdicts that this part of the detector decided. */
      decided_by?: "rules" | "learned" | "llm" | null;
      /** `person`, or `agent` for AI critics: feedback whose user type is `agent`. */
      given_by?: "person" | "agent" | null;
      /** `chat`, `post` for comments on and reactions to an agent's posts and comments, `api` for judgements, `inference` or `review`. */
      source?: "chat" | "post" | "api" | "inference" | "review" | null;
      /** Only verdicts on the turns of this issue. */
      issue?: number | null;
      /** The bundle that produced the answer. */
      bundle_id?: string | null;
      /** The track that the answer belongs to. */
      track_id?: string | null;
      /** The answer's intent. */
      intent?: string | null;
      /** The agent's strategy for the answer. */
      strategy?: string | null;
      /** The person's role on the platform. */
      user_type?: string | null;
      /** The thread of the answer. */
      thread?: string | null;
      /** Only machine verdicts, including overruled ones, on turns to which a person or reviewer gave this verdict. `any` stands for every verdict. */
      judged?: "ok" | "not_ok" | "neutral" | "any" | null;
      /** Only machine verdicts whose confidence is in this twentieth, 0 to 19. */
      confidence_bin?: number | null;
      /** Attributes of the answer, such as `language`, if REPORTING_ATTRIBUTES lists them; in a query string `attributes.language=de`. */
      attributes?: Record<string, unknown> | null;
      /** Start of the window, inclusive; by default 30 days before the end. */
      start?: string | null;
      /** End of the window, exclusive; by default now. */
      end?: string | null;
      /** Maximum number of items in the response. */
      limit?: number;
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
      /** The agent that answered. */
      agent_id?: string | null;
      /** The agent's version. */
      agent_version?: string | null;
      /** The agent's language model. */
      model?: string | null;
      /** The verdict. */
      reaction?: "ok" | "not_ok" | "neutral" | null;
      /** `user` for people, `machine` for inferred verdicts, `reviewer` for reviews. */
      origin?: "user" | "machine" | "reviewer" | null;
      /** `reaction`, `explicit`, `inferred`, `implicit` for replies, or `verdict` for all types except `implicit`. */
      feedback_type?: "implicit" | "reaction" | "explicit" | "inferred" | "verdict" | null;
      /** A reason: a tag, or a machine verdict's correction type. */
      tag?: string | null;
      /** Minimum confidence, 0 to 1. Rejections after long answers by the learned layer have at most 0.83. */
      min_confidence?: number | null;
      /** The person who gave the verdict, or whose message the machine judged. */
      user_id?: string | null;
      /** Only this conversation. */
      conversation_id?: string | null;
      /** Only machine verdicts of this detector version. */
      detector?: string | null;
      /** Only machine verdicts that this part of the detector decided. */
      decided_by?: "rules" | "learned" | "llm" | null;
      /** `person`, or `agent` for AI critics: feedback whose user type is `agent`. */
      given_by?: "person" | "agent" | null;
      /** `chat`, `post` for comments on and reactions to an agent's posts and comments, `api` for judgements, `inference` or `review`. */
      source?: "chat" | "post" | "api" | "inference" | "review" | null;
      /** Only verdicts on the turns of this issue. */
      issue?: number | null;
      /** The bundle that produced the answer. */
      bundle_id?: string | null;
      /** The track that the answer belongs to. */
      track_id?: string | null;
      /** The answer's intent. */
      intent?: string | null;
      /** The agent's strategy for the answer. */
      strategy?: string | null;
      /** The person's role on the platform. */
      user_type?: string | null;
      /** The thread of the answer. */
      thread?: string | null;
      /** Only machine verdicts, including overruled ones, on turns to which a person or reviewer gave this verdict. `any` stands for every verdict. */
      judged?: "ok" | "not_ok" | "neutral" | "any" | null;
      /** Only machine verdicts whose confidence is in this twentieth, 0 to 19. */
      confidence_bin?: number | null;
      /** Attributes of the answer, such as `language`, if REPORTING_ATTRIBUTES lists them; in a query string `attributes.language=de`. */
      attributes?: Record<string, unknown> | null;
      /** At most 10 words. All of them must be in the question, or all in the answer, or all in the text and correction. Case is ignored. A word also matches the beginning of a longer word. */
      words?: string | null;
      /** Earliest time of the reaction, inclusive. */
      start?: string | null;
      /** Latest time of the reaction, inclusive. */
      end?: string | null;
      /** Also export machine verdicts. By default, if `origin` is not given, only verdicts of people and reviewers are exported. */
      everyone?: boolean;
      /** Export every feedback record. By default, an export has one row per judged answer and person: the verdict that counts. With `events`, records include replies. */
      records?: boolean;
    };
    body: undefined;
    answer: unknown;
  };
  "GET /conversations/{tenant}/{project}/exports/{wanted}/counts": {
    query: {
      /** The agent that answered. */
      agent_id?: string | null;
      /** The agent's version. */
      agent_version?: string | null;
      /** The agent's language model. */
      model?: string | null;
      /** The verdict. */
      reaction?: "ok" | "not_ok" | "neutral" | null;
      /** `user` for people, `machine` for inferred verdicts, `reviewer` for reviews. */
      origin?: "user" | "machine" | "reviewer" | null;
      /** `reaction`, `explicit`, `inferred`, `implicit` for replies, or `verdict` for all types except `implicit`. */
      feedback_type?: "implicit" | "reaction" | "explicit" | "inferred" | "verdict" | null;
      /** A reason: a tag, or a machine verdict's correction type. */
      tag?: string | null;
      /** Minimum confidence, 0 to 1. Rejections after long answers by the learned layer have at most 0.83. */
      min_confidence?: number | null;
      /** The person who gave the verdict, or whose message the machine judged. */
      user_id?: string | null;
      /** Only this conversation. */
      conversation_id?: string | null;
      /** Only machine verdicts of this detector version. */
      detector?: string | null;
      /** Only machine verdicts that this part of the detector decided. */
      decided_by?: "rules" | "learned" | "llm" | null;
      /** `person`, or `agent` for AI critics: feedback whose user type is `agent`. */
      given_by?: "person" | "agent" | null;
      /** `chat`, `post` for comments on and reactions to an agent's posts and comments, `api` for judgements, `inference` or `review`. */
      source?: "chat" | "post" | "api" | "inference" | "review" | null;
      /** Only verdicts on the turns of this issue. */
      issue?: number | null;
      /** The bundle that produced the answer. */
      bundle_id?: string | null;
      /** The track that the answer belongs to. */
      track_id?: string | null;
      /** The answer's intent. */
      intent?: string | null;
      /** The agent's strategy for the answer. */
      strategy?: string | null;
      /** The person's role on the platform. */
      user_type?: string | null;
      /** The thread of the answer. */
      thread?: string | null;
      /** Only machine verdicts, including overruled ones, on turns to which a person or reviewer gave this verdict. `any` stands for every verdict. */
      judged?: "ok" | "not_ok" | "neutral" | "any" | null;
      /** Only machine verdicts whose confidence is in this twentieth, 0 to 19. */
      confidence_bin?: number | null;
      /** Attributes of the answer, such as `language`, if REPORTING_ATTRIBUTES lists them; in a query string `attributes.language=de`. */
      attributes?: Record<string, unknown> | null;
      /** At most 10 words. All of them must be in the question, or all in the answer, or all in the text and correction. Case is ignored. A word also matches the beginning of a longer word. */
      words?: string | null;
      /** Earliest time of the reaction, inclusive. */
      start?: string | null;
      /** Latest time of the reaction, inclusive. */
      end?: string | null;
      /** Also export machine verdicts. By default, if `origin` is not given, only verdicts of people and reviewers are exported. */
      everyone?: boolean;
      /** Export every feedback record. By default, an export has one row per judged answer and person: the verdict that counts. With `events`, records include replies. */
      records?: boolean;
    };
    body: undefined;
    answer: ExportCounts;
  };
  "GET /conversations/{tenant}/{project}/audit": {
    query: {
      /** Start of the window, inclusive; by default 30 days before the end. */
      start?: string | null;
      /** End of the window, exclusive; by default now. */
      end?: string | null;
    };
    body: undefined;
    answer: Audit;
  };
  "GET /conversations/{tenant}/{project}/issues": {
    query: {
      /** List only issues of this agent. */
      agent_id?: string | null;
      /** List only issues in this state. */
      state?: "open" | "resolved" | "muted" | "regressed" | null;
      /** Maximum number of issues in the response. */
      limit?: number;
    };
    body: undefined;
    answer: IssueList;
  };
  "GET /conversations/{tenant}/{project}/issues/{issue}": {
    query: Record<string, unknown>;
    body: undefined;
    answer: IssuePage;
  };
  "POST /conversations/{tenant}/{project}/issues/{issue}/change": {
    query: Record<string, unknown>;
    body: IssueBody;
    answer: IssueId;
  };
  "POST /conversations/{tenant}/{project}/issues/{issue}/merge": {
    query: Record<string, unknown>;
    body: MergeBody;
    answer: IssueId;
  };
  "GET /tenants/{tenant}/webhooks": {
    query: Record<string, unknown>;
    body: undefined;
    answer: WebhookStatuses;
  };
  "POST /tenants/{tenant}/webhooks/{endpoint}/replay": {
    query: Record<string, unknown>;
    body: undefined;
    answer: Replayed;
  };
  "GET /conversations/{tenant}/{project}/alerts": {
    query: Record<string, unknown>;
    body: undefined;
    answer: ProjectAlertsState;
  };
}
