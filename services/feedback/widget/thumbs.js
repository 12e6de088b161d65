/**
 * <agent-feedback-thumbs tenant="acme" project="support" conversation="c-42" turn="t-7">
 *
 * A person's judgement of one answer of an agent: give it, change it, take it back, say why.
 * Shows what the person holds already. `base` is the address of the HTTP API (default: where this file came from).
 * Signs in with the page's cookie, or with the property `token` (a string, or a function that may be async).
 * Sends the event `feedback` with {reaction, tags, text, feedbackId} once the platform has taken a judgement in.
 * Colours: --agent-feedback-accent, --agent-feedback-ink, --agent-feedback-line, --agent-feedback-paper.
 */
const HOME = new URL(import.meta.url).origin;
const TRIES = 4;
const LONGEST_WAIT_SECONDS = 10;
const TEXT_LIMIT = 10_000;

const LABELS = {
  group: "Was this answer helpful?",
  ok: "Good answer",
  not_ok: "Bad answer",
  why: "Say why",
  ok_why: "What was good about it?",
  not_ok_why: "What was wrong with it?",
  words: "In your own words (optional)",
  send: "Send",
  close: "Close",
  sent: "Thank you.",
  noted: "Thank you, noted.",
  back: "Taken back.",
  signIn: "Sign in to give feedback.",
  forbidden: "You may not give feedback here.",
  unknown: "This answer is not known.",
  failed: "That did not work; try again.",
};

const TAGS = {
  ok: { correct: "Correct", helpful: "Helpful", well_put: "Well put" },
  not_ok: { wrong: "Wrong", off_topic: "Off topic", incomplete: "Incomplete", too_long: "Too long" },
};

const TROUBLE = { 401: "signIn", 403: "forbidden", 404: "unknown" };

const PATHS = {
  ok: "M7 10v11H3V10h4Zm2 11V10l4-8c1.7 0 3 1.3 3 3v4h4a2 2 0 0 1 2 2.3l-1.3 8A2 2 0 0 1 18.7 21H9Z",
  not_ok: "M17 14V3h4v11h-4ZM15 3v11l-4 8c-1.7 0-3-1.3-3-3v-4H4a2 2 0 0 1-2-2.3l1.3-8A2 2 0 0 1 5.3 3H15Z",
};

const STYLE = new CSSStyleSheet();
STYLE.replaceSync(`
  :host { display: inline-block; color-scheme: light dark; font: 14px/1.45 system-ui, sans-serif;
    --ink: var(--agent-feedback-ink, light-dark(#4a4f58, #b8bec9));
    --line: var(--agent-feedback-line, light-dark(#d4d8df, #444b57));
    --paper: var(--agent-feedback-paper, light-dark(#ffffff, #1c2027));
    --accent: var(--agent-feedback-accent, light-dark(#1f5fd0, #8ab4ff)); color: var(--ink); max-width: 26rem; }
  :host([hidden]) { display: none; }
  .row { margin-left: -.625rem; }
  .row, .tags { display: flex; flex-wrap: wrap; gap: .375rem; align-items: center; }
  button { font: inherit; color: inherit; background: none; border: 1px solid transparent; border-radius: .5rem;
    min-width: 2.5rem; min-height: 2.5rem; padding: .25rem .5rem; cursor: pointer; }
  button:hover { border-color: var(--line); }
  button:focus-visible, textarea:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
  button[aria-pressed="true"] { color: var(--accent); }
  .thumb { display: inline-grid; place-items: center; padding: 0; }
  svg { width: 1.25rem; height: 1.25rem; fill: none; stroke: currentColor; stroke-width: 1.75; stroke-linejoin: round; }
  [aria-pressed="true"] svg { fill: currentColor; }
  form { display: grid; gap: .625rem; margin-top: .375rem; padding: .75rem; border: 1px solid var(--line);
    border-radius: .75rem; background: var(--paper); }
  [hidden] { display: none !important; }
  .tags button, .end button { border-color: var(--line); min-height: 2.25rem; padding: .25rem .75rem; }
  .tags button[aria-pressed="true"] { border-color: var(--accent); }
  .end { display: flex; gap: .375rem; justify-content: flex-end; }
  .end [type="submit"] { background: var(--accent); border-color: var(--accent); color: var(--paper); }
  textarea { font: inherit; color: inherit; background: none; border: 1px solid var(--line); border-radius: .5rem;
    padding: .5rem; min-height: 3.5rem; resize: vertical; width: 100%; box-sizing: border-box; }
  label { display: grid; gap: .25rem; }
  .status:not(:empty) { padding: 0 .375rem; }
`);

/** An element with attributes and children; strings become text, never markup. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function thumb(reaction) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", PATHS[reaction]);
  svg.append(path);
  return svg;
}

class Refused extends Error {
  constructor(status) {
    super(String(status));
    this.status = status;
  }
}

const NOTHING = { reaction: null, tags: [], text: "" };

class AgentFeedbackThumbs extends HTMLElement {
  static observedAttributes = ["tenant", "project", "conversation", "turn", "base"];

  /** A bearer token, or a function that gives one. Without it the page's own cookie is used. */
  token = null;
  #held = NOTHING;
  #round = 0;
  #queue = Promise.resolve();
  #parts = null;
  #due = false;

  connectedCallback() {
    if (!this.#parts) this.#build();
    this.#reloadSoon();
  }

  attributeChangedCallback() {
    if (this.#parts) this.#reloadSoon();
  }

  /** Show what the person holds on the turn now. */
  async reload() {
    const round = ++this.#round;
    this.#hold(NOTHING);
    this.#say("");
    if (!this.#address) return;
    try {
      const held = await this.#ask("GET");
      if (round === this.#round) this.#hold({ reaction: held.reaction, tags: held.tags ?? [], text: held.text ?? "" });
    } catch (error) {
      if (round === this.#round && error.status === 401) this.#say("signIn");
    }
  }

  get #address() {
    const ids = ["tenant", "project", "conversation", "turn"].map((name) => this.getAttribute(name));
    if (ids.some((id) => !id)) return null;
    const [tenant, project, conversation, turn] = ids.map(encodeURIComponent);
    const base = (this.getAttribute("base") || HOME).replace(/\/+$/, "");
    return `${base}/conversations/${tenant}/${project}/${conversation}/turns/${turn}/feedback`;
  }

  #reloadSoon() {
    if (this.#due) return;
    this.#due = true;
    queueMicrotask(() => {
      this.#due = false;
      if (this.isConnected) this.reload();
    });
  }

  #build() {
    const thumbs = {};
    for (const reaction of ["ok", "not_ok"]) {
      const name = LABELS[reaction];
      const button = element("button", { type: "button", class: "thumb", "aria-label": name, title: name });
      button.append(thumb(reaction));
      button.addEventListener("click", () => this.#press(reaction));
      thumbs[reaction] = button;
    }
    const why = element("button", { type: "button", "aria-expanded": "false" }, LABELS.why);
    const tags = element("div", { class: "tags", role: "group" });
    const text = element("textarea", { maxlength: TEXT_LIMIT, rows: 2 });
    const close = element("button", { type: "button" }, LABELS.close);
    const end = element("div", { class: "end" }, close, element("button", { type: "submit" }, LABELS.send));
    const form = element("form", {}, tags, element("label", {}, LABELS.words, text), end);
    const status = element("span", { class: "status", role: "status" });
    form.addEventListener("submit", (event) => this.#explain(event));
    form.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.#close();
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    });
    close.addEventListener("click", () => this.#close());
    why.addEventListener("click", () => {
      this.#open();
      text.focus();
    });
    const row = element("div", { class: "row", role: "group", "aria-label": LABELS.group }, ...Object.values(thumbs));
    row.append(why, status);
    this.#parts = { thumbs, why, tags, text, form, status };
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [STYLE];
    root.append(row, form);
    this.#hold(NOTHING);
  }

  #hold(held) {
    this.#held = held;
    for (const [reaction, button] of Object.entries(this.#parts.thumbs)) {
      button.setAttribute("aria-pressed", String(held.reaction === reaction));
    }
    this.#fold(true);
  }

  /** Show or hide the form; there is one only for a judgement that is held. */
  #fold(closed) {
    const { form, why } = this.#parts;
    const nothing = !(this.#held.reaction in TAGS);
    form.hidden = closed || nothing;
    why.hidden = !closed || nothing;
    why.setAttribute("aria-expanded", String(!form.hidden));
  }

  #say(label) {
    this.#parts.status.textContent = label ? LABELS[label] : "";
  }

  #press(reaction) {
    const back = this.#held.reaction === reaction;
    const wanted = { ...NOTHING, reaction: back ? null : reaction };
    this.#send(wanted, back ? "back" : "sent");
    this.#open();
  }

  #explain(event) {
    event.preventDefault();
    const chosen = [...this.#parts.tags.children].filter((tag) => tag.getAttribute("aria-pressed") === "true");
    const wanted = {
      reaction: this.#held.reaction,
      tags: chosen.map((tag) => tag.dataset.tag),
      text: this.#parts.text.value.trim(),
    };
    this.#close();
    this.#send(wanted, "noted");
  }

  #open() {
    const { tags, text } = this.#parts;
    const { reaction, tags: chosen, text: words } = this.#held;
    text.value = words;
    tags.setAttribute("aria-label", LABELS[`${reaction}_why`] ?? "");
    tags.replaceChildren(
      ...Object.entries(TAGS[reaction] ?? {}).map(([tag, name]) => {
        const pressed = String(chosen.includes(tag));
        const button = element("button", { type: "button", "aria-pressed": pressed, "data-tag": tag }, name);
        button.addEventListener("click", () => {
          button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
        });
        return button;
      }),
    );
    this.#fold(false);
  }

  #close() {
    const { form, thumbs } = this.#parts;
    const inside = form.contains(this.shadowRoot.activeElement);
    this.#fold(true);
    if (inside) (thumbs[this.#held.reaction] ?? thumbs.ok).focus();
  }

  /** Shown at once, sent in order, and taken back on screen where the platform refuses it. */
  #send(wanted, thanks) {
    const before = this.#held;
    const round = ++this.#round;
    const address = this.#address;
    this.#hold(wanted);
    this.#say("");
    this.#queue = this.#queue.then(async () => {
      try {
        const { reaction, tags, text } = wanted;
        const taken = await this.#ask("POST", reaction ? { reaction, tags, text: text || null } : { reaction }, address);
        if (round === this.#round) this.#say(thanks);
        const detail = { ...wanted, feedbackId: taken.feedback_id };
        this.dispatchEvent(new CustomEvent("feedback", { detail, bubbles: true, composed: true }));
      } catch (error) {
        if (round !== this.#round) return;
        this.#hold(before);
        this.#say(TROUBLE[error.status] ?? "failed");
      }
    });
  }

  /** The answer's JSON. What is to be sent again later is, a few times. Throws Refused, or what fetch throws. */
  async #ask(method, body, address = this.#address) {
    for (let attempt = 1; ; attempt++) {
      const token = typeof this.token === "function" ? await this.token() : this.token;
      const headers = { ...(token && { Authorization: `Bearer ${token}` }) };
      if (body) headers["Content-Type"] = "application/json";
      const answer = await fetch(address, {
        method,
        headers,
        body: body && JSON.stringify(body),
        credentials: token ? "omit" : "same-origin",
        cache: "no-store",
      });
      if (answer.ok) return answer.json();
      const again = [429, 503].includes(answer.status) && attempt < TRIES;
      if (!again) throw new Refused(answer.status);
      const seconds = Math.min(Number(answer.headers.get("Retry-After")) || attempt, LONGEST_WAIT_SECONDS);
      await new Promise((done) => setTimeout(done, seconds * 1000));
    }
  }
}

customElements.define("agent-feedback-thumbs", AgentFeedbackThumbs);
