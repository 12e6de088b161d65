/** One request to the platform, tried again where that helps. The widget is built on this, too. */

/** Gives the token to call with, empty for none; `renew` asks for another one than the last. */
export type Bearer = (renew: boolean) => Promise<string> | string;

export interface Asked {
  method: string;
  /** The body as it is sent. */
  body?: string | undefined;
  mediaType?: string;
  signal?: AbortSignal | undefined;
  /** The request outlives its page. */
  keepalive?: boolean;
}

export const TRIES = 4;
const LONGEST_WAIT = 10;
const LONGEST_DETAIL = 500;

/**
 * The platform refused, or could not be reached (`status` 0). `message` is a sentence that holds nothing that was sent:
 * of a refusal its status and the service's own, as in "404: No agent has answered on that turn."
 */
export class FeedbackError extends Error {
  constructor(
    readonly status: number,
    detail = "refused without a reason",
  ) {
    super(status ? `${status}: ${detail}` : detail);
    this.name = "FeedbackError";
  }
}

/** `conversations/…` below the platform's address: ids are whole, slashes included. */
export const pathOf = (...parts: string[]): string => "conversations/" + parts.map((part) => encodeURIComponent(whole(part))).join("/");

/** The text with U+FFFD for half a character of UTF-16, which no address and no JSON of the platform takes. */
export const whole = (text: string): string => text.replace(/\p{Surrogate}/gu, "\uFFFD");

/** Why the service refuses, where its answer says so: a proxy's page, or a body that breaks off, does not. */
async function detailOf(answer: Response): Promise<string | undefined> {
  try {
    const { detail } = (await answer.json()) as { detail?: unknown };
    return typeof detail === "string" ? detail.slice(0, LONGEST_DETAIL) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The answer to a request; 429 and 503 are tried again after Retry-After (ten seconds at most), and a token that is
 * refused is renewed once. Every request of ours may be sent twice. Rejects with a FeedbackError, or as `fetch` does.
 */
export async function ask(address: string, asked: Asked, bearer: Bearer, tries = TRIES): Promise<Response> {
  const { method, body, signal, keepalive, mediaType = "application/json" } = asked;
  let renew = false;
  for (let attempt = 1; ; attempt++) {
    const token = await bearer(renew);
    const headers: Record<string, string> = token ? { Authorization: `Bearer ${token}` } : {};
    if (body) headers["Content-Type"] = mediaType;
    // Another site is never sent our cookies: with a token there is no need, without one it is our own site.
    const credentials = token ? "omit" : "same-origin";
    const answer = await fetch(address, { method, headers, body, signal, keepalive, credentials, cache: "no-store" } as RequestInit);
    if (answer.ok) return answer;
    if (answer.status === 401 && token && !renew) {
      renew = true;
      continue;
    }
    if (![429, 503].includes(answer.status) || attempt >= tries) throw new FeedbackError(answer.status, await detailOf(answer));
    const seconds = Math.min(Number(answer.headers.get("Retry-After")) || attempt, LONGEST_WAIT);
    await new Promise((done) => setTimeout(done, seconds * 1000));
  }
}
