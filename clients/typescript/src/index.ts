/** Feedback on an AI agent's answers over HTTP: `fetch` only, no dependency. */

import { ask, FeedbackError, pathOf, TRIES, whole } from "./asking.js";
import type { Asked } from "./asking.js";
import type { Operations } from "./schema.js";

export { FeedbackError };
export type * from "./schema.js";

type Conversation = "/conversations/{tenant}/{project}/{conversation_id}";
type Project = "/conversations/{tenant}/{project}";
type Body<K extends keyof Operations> = Operations[K]["body"];
type Answer<K extends keyof Operations> = Operations[K]["answer"];
type Query<K extends keyof Operations> = Operations[K]["query"];
type Give = `POST ${Conversation}/turns/{turn_id}/feedback`;
type Own = `GET ${Conversation}/turns/{turn_id}/feedback`;
type Detect = `POST ${Conversation}/detect`;
type Late = `POST ${Conversation}/feedback/latest`;
type Strategies = `POST ${Project}/strategies/search`;
type Period = `POST ${Project}/feedback/conversations-in-period`;
type Search = `POST ${Project}/feedback/search`;
type Export = `GET ${Project}/exports/{wanted}`;
type Ingest = "POST /ingest/{tenant}/{project}/events";
type End = "POST /api/threads/{thread_id}/end";
type Status = "GET /api/memory/status";

export type Reaction = "ok" | "not_ok" | "neutral";
/** A chat event: its `topic`, an `eventId`, and the fields that docs/events.md describes. */
export type ChatEvent = { topic: string; eventId: string } & Record<string, unknown>;
export type Token = string | (() => string | Promise<string>);

export interface Options {
  tenant: string;
  project: string;
  /** The access token, or what fetches one; it is asked again when the platform refuses the last one. */
  token?: Token;
  /** How often a request is tried in all. */
  tries?: number;
  /** After how many seconds a call gives up, all tries together; of an export, until its first row may come. */
  seconds?: number;
}

export interface PerCall {
  signal?: AbortSignal;
}

/** The platform at `url`, for one tenant and project. Every call rejects with a FeedbackError or not at all. */
export class Client {
  readonly #home: string;
  readonly #options: Options;
  #token: string | null = null;
  #connection: Promise<void> | null = null;

  constructor(url: string, options: Options) {
    this.#home = url.replace(/\/*$/, "/");
    this.#options = options;
  }

  /** Judge a turn; a later judgement replaces it. */
  submitFeedback(
    conversationId: string,
    turnId: string,
    reaction: Reaction,
    said: Omit<Body<Give>, "reaction" | "rating" | "scale"> = {},
    call: PerCall = {},
  ): Promise<Answer<Give>> {
    return this.#json("POST", this.#path(conversationId, "turns", turnId, "feedback"), { ...said, reaction }, call, "feedback_id");
  }

  /** Rate an answer from 1 to `scale`, which counts as a judgement. Null takes the rating back. */
  submitRating(
    conversationId: string,
    turnId: string,
    rating: number | null,
    scale: number,
    said: Pick<Body<Give>, "text" | "ts" | "user_id"> = {},
    call: PerCall = {},
  ): Promise<Answer<Give>> {
    const path = this.#path(conversationId, "turns", turnId, "feedback");
    return this.#json("POST", path, { ...said, rating, scale }, call, "feedback_id");
  }

  /** Take the judgement of a turn back, its words with it. */
  clearFeedback(
    conversationId: string,
    turnId: string,
    said: Pick<Body<Give>, "ts" | "user_id"> = {},
    call: PerCall = {},
  ): Promise<Answer<Give>> {
    const path = this.#path(conversationId, "turns", turnId, "feedback");
    return this.#json("POST", path, { ...said, reaction: null }, call, "feedback_id");
  }

  /** What the token's person holds on a turn. */
  ownFeedback(
    conversationId: string,
    turnId: string,
    query: Query<Own> = {},
    call: PerCall = {},
  ): Promise<Answer<Own>> {
    return this.#json("GET", this.#path(conversationId, "turns", turnId, "feedback") + asQuery(query), undefined, call, "turn_id");
  }

  /** Send chat events, at most 50,000 and 8 MiB; the answer names those that were refused. */
  async ingest(events: Iterable<ChatEvent>, call: PerCall = {}): Promise<Answer<Ingest>> {
    const lines = [...events].map((event) => {
      if (!event.eventId) throw new TypeError("an event without an eventId could count twice");
      return asJson(event);
    });
    const { tenant, project } = this.#options;
    const path = `ingest/${encodeURIComponent(whole(tenant))}/${encodeURIComponent(whole(project))}/events`;
    const sent = { method: "POST", body: lines.join("\n"), mediaType: "application/x-ndjson" };
    return this.#read(path, sent, call, "accepted");
  }

  /** End a session, with its rating or without one. */
  endSession(
    threadId: string,
    feedback: "positive" | "negative" | "skip" | null = null,
    said: Omit<Body<End>, "feedback"> = {},
    call: PerCall = {},
  ): Promise<Answer<End>> {
    const { tenant, project } = this.#options;
    // A key of its own makes a rating that is sent twice one rating.
    const key = feedback ? { idempotency_key: crypto.randomUUID() } : {};
    const body = { tenant, project, ...key, ...said, feedback };
    return this.#json("POST", `api/threads/${encodeURIComponent(whole(threadId))}/end`, body, call, "status");
  }

  /** How many ratings are kept of a session. */
  memoryStatus(threadId: string, call: PerCall = {}): Promise<Answer<Status>> {
    const query = asQuery({ thread_id: threadId, tenant: this.#options.tenant });
    return this.#json("GET", `api/memory/status${query}`, undefined, call, "session_feedback_count");
  }

  /** What a new message says of the answers before it. Publishes nothing. */
  detect(
    conversationId: string,
    text: string,
    said: Omit<Body<Detect>, "text"> = {},
    call: PerCall = {},
  ): Promise<Answer<Detect>> {
    return this.#json("POST", this.#path(conversationId, "detect"), { ...said, text }, call, "feedback");
  }

  /**
   * Everything that a planner needs, in one request and `milliseconds` at most: what `detect` gives, with five strategies
   * that worked for such questions. Pass the last answer as `previous`. Null if the platform is slow, wrong or gone;
   * never rejects. A client's first call may take `connecting` milliseconds more, to open the connection.
   */
  async beforePlanning(
    conversationId: string,
    text: string,
    said: Omit<Body<Detect>, "text"> = {},
    milliseconds = 50,
    connecting = 1000,
  ): Promise<Answer<Detect> | null> {
    await (this.#connection ??= this.#connect(connecting));
    const asked = { strategies: 5, wait_seconds: milliseconds / 2000, ...said };
    const call = { signal: AbortSignal.timeout(milliseconds) };
    return this.detect(conversationId, text, asked, call).catch(() => null);
  }

  /** The latest reaction of each turn that changed; follow `next_cursor`, the last page has the watermark. */
  latest(conversationId: string, asked: Body<Late>, call: PerCall = {}): Promise<Answer<Late>> {
    return this.#json("POST", this.#path(conversationId, "feedback", "latest"), asked, call, "items");
  }

  /** Turns whose strategy to learn from. */
  searchStrategies(asked: Body<Strategies>, call: PerCall = {}): Promise<Answer<Strategies>> {
    return this.#json("POST", this.#path("strategies", "search"), asked, call, "items");
  }

  /** Conversations with feedback in a window; follow `next_cursor` until it is null. */
  period(asked: Body<Period>, call: PerCall = {}): Promise<Answer<Period>> {
    return this.#json("POST", this.#path("feedback", "conversations-in-period"), asked, call, "items");
  }

  /** Feedbacks that count, newest first; follow `next_cursor` until it is null. */
  search(asked: Body<Search> = {}, call: PerCall = {}): Promise<Answer<Search>> {
    return this.#json("POST", this.#path("feedback", "search"), asked, call, "items");
  }

  /** The rows of an export, as they come. */
  async *export(
    kind: "kto" | "dpo" | "sft" | "events",
    query: Query<Export> = {},
    call: PerCall = {},
  ): AsyncGenerator<Record<string, unknown>> {
    const path = this.#path("exports", kind) + asQuery(query);
    const answer = await this.#timed(call, (signal) => this.#ask(path, { method: "GET" }, signal));
    let rest = "";
    const decoder = new TextDecoder();
    const reader = answer.body!.getReader();
    try {
      for (;;) {
        const { done, value } = await reader.read().catch((error) => this.#lost(error));
        const lines = (rest + decoder.decode(value, { stream: !done })).split("\n");
        rest = done ? "" : lines.pop()!;
        for (const line of lines) if (line.trim()) yield parsed(line);
        if (done) return;
      }
    } finally {
      reader.cancel().catch(() => {});
    }
  }

  /** Open a connection and fetch the token, once: later calls find both, or do without. Never rejects. */
  async #connect(milliseconds: number): Promise<void> {
    try {
      const signal = AbortSignal.timeout(milliseconds);
      const answer = fetch(this.#home + "health/live", { signal }).then((found) => found.arrayBuffer());
      await Promise.race([Promise.all([answer, this.#bearer(false)]), aborted(signal)]);
    } catch {
      // The call itself finds out what is wrong.
    }
  }

  #path(...parts: string[]): string {
    return pathOf(this.#options.tenant, this.#options.project, ...parts);
  }

  #json<T>(
    method: string,
    path: string,
    body: object | undefined,
    call: PerCall,
    needed: string & keyof T,
  ): Promise<T> {
    return this.#read(path, { method, body: body && asJson(body) }, call, needed);
  }

  /** The answer, a JSON object with at least the field `needed`: a proxy's page or another service has none. */
  #read<T>(path: string, asked: Asked, call: PerCall, needed: string & keyof T): Promise<T> {
    return this.#timed(call, async (signal) => {
      const found = parsed(await (await this.#ask(path, asked, signal)).text());
      if (needed in found) return found as T;
      throw new FeedbackError(0, `the answer lacks ${needed}: is this the address of the platform?`);
    });
  }

  #ask(path: string, asked: Asked, signal: AbortSignal): Promise<Response> {
    const { tries = TRIES } = this.#options;
    return ask(this.#home + path, { ...asked, signal }, (renew) => this.#bearer(renew), tries);
  }

  /** `work`, given up when its time is over or the caller aborts, whatever it waits for. */
  async #timed<T>(call: PerCall, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const late = new AbortController();
    const { seconds = 30 } = this.#options;
    const timer = setTimeout(() => late.abort(new FeedbackError(0, `no answer from ${this.#origin} within ${seconds} s`)), seconds * 1000);
    const signal = call.signal ? AbortSignal.any([late.signal, call.signal]) : late.signal;
    try {
      return await Promise.race([work(signal), aborted(signal)]);
    } catch (error) {
      throw error instanceof FeedbackError ? error : this.#lost(error);
    } finally {
      clearTimeout(timer);
    }
  }

  async #bearer(renew: boolean): Promise<string> {
    const { token = "" } = this.#options;
    if (typeof token === "string") return token;
    if (renew) this.#token = null;
    try {
      return (this.#token ??= await token());
    } catch {
      throw new FeedbackError(0, "no token: what should fetch it failed");
    }
  }

  /** What went wrong on the way, by the name of its kind: the rest may hold the whole address. */
  #lost(error: unknown): never {
    throw new FeedbackError(0, `no answer from ${this.#origin} (${error instanceof Error ? error.name : typeof error})`);
  }

  /** Of the platform's address what may be shown: no name and no password. */
  get #origin(): string {
    try {
      return new URL(this.#home, globalThis.location?.href).origin;
    } catch {
      return "what is no address";
    }
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Said below: it holds words of people, so none of it is repeated.
  }
  throw new FeedbackError(0, "the answer is not a JSON object: it may have been cut off");
}

/** JSON of a value. A text cut in the middle of an emoji ends in half of it, which the platform's JSON refuses. */
function asJson(value: object): string {
  return JSON.stringify(value, (_, found: unknown) => (typeof found === "string" ? whole(found) : found));
}

function asQuery(fields: object): string {
  const given = Object.entries(fields).filter(([, value]) => value != null);
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text && `?${text}`;
}
