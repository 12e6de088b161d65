/**
 * <agent-feedback-thumbs tenant="acme" project="support" conversation="c-42" turn="t-7"></agent-feedback-thumbs>
 *
 * A person's judgement of one answer, by thumbs or on a scale: give, change, explain, correct, take back. docs/http.md describes every attribute,
 * property, event and colour; all may be set at any time, before the script has loaded, too.
 */
import { ask, FeedbackError, pathOf } from "../src/asking.ts";
import { LABELS } from "./labels.js";

(() => {
  if (customElements.get("agent-feedback-thumbs")) return;
  const SCRIPT = document.currentScript ?? document.querySelector('script[src$="widget.js"]');
  const HOME = new URL(".", SCRIPT?.src || location.href).href;
  const TAGS = { ok: ["correct", "helpful", "well_put"], not_ok: ["wrong", "off_topic", "incomplete", "too_long"] };
  const TROUBLE = { 401: "signIn", 403: "forbidden", 404: "unknown" };
  const HAND = "M7 10v11H3V10h4Zm2 11V10l4-8c1.7 0 3 1.3 3 3v4h4a2 2 0 0 1 2 2.3l-1.3 8A2 2 0 0 1 18.7 21H9Z";
  const STYLE = new CSSStyleSheet();
  STYLE.replaceSync(`
:host { display: inline-block; font: 14px/1.45 system-ui, sans-serif; max-width: 26rem;
  --ink: var(--agent-feedback-ink, light-dark(#4a4f58, #b8bec9)); color: var(--ink);
  --line: var(--agent-feedback-line, light-dark(#d4d8df, #444b57));
  --paper: var(--agent-feedback-paper, light-dark(#fff, #1c2027));
  --accent: var(--agent-feedback-accent, light-dark(#1f5fd0, #8ab4ff)); }
:host([hidden]), [hidden] { display: none !important; }
.row { margin-left: -.625rem; }
.row, .tags { display: flex; flex-wrap: wrap; gap: .375rem; align-items: center; }
button, textarea { font: inherit; color: inherit; background: none; border: 1px solid transparent; border-radius: .5rem; }
button { min-width: 2.5rem; min-height: 2.5rem; padding: .25rem .5rem; cursor: pointer; }
button:hover, .tags button, .end button, textarea { border-color: var(--line); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
[aria-pressed="true"] { color: var(--accent); }
.tags [aria-pressed="true"] { border-color: var(--accent); }
.thumb { display: inline-grid; place-items: center; padding: 0; }
svg { width: 1.25rem; fill: none; stroke: currentColor; stroke-width: 1.75; stroke-linejoin: round; }
[aria-pressed="true"] svg { fill: currentColor; }
.thumb + .thumb svg { rotate: 180deg; }
form, label { display: grid; gap: .25rem; }
form { gap: .625rem; margin-top: .375rem; padding: .75rem; border: 1px solid var(--line); border-radius: .75rem;
  background: var(--paper); }
.tags button, .end button { min-height: 2.25rem; padding: .25rem .75rem; }
.end { display: flex; gap: .375rem; justify-content: flex-end; }
.end [type="submit"] { background: var(--accent); border-color: var(--accent); color: var(--paper); }
textarea { padding: .5rem; min-height: 3.5rem; resize: vertical; width: 100%; box-sizing: border-box; }`);

  /** An element with attributes and children; strings become text, never markup. */
  const make = (name, attributes = {}, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };
  const hand = () => {
    const [svg, path] = ["svg", "path"].map((name) => document.createElementNS("http://www.w3.org/2000/svg", name));
    svg.setAttribute("viewBox", "0 0 24 24");
    svg.setAttribute("aria-hidden", "true");
    path.setAttribute("d", HAND);
    svg.append(path);
    return svg;
  };
  const NOTHING = { reaction: null, rating: null, tags: [], text: "", correction: "" };
  const TEXTS = ["tenant", "project", "conversation", "turn", "base", "token-url", "scale"];
  const VALUES = ["token", "getToken", "labels", "reasons", "correction"];
  /** Tokens asked for by the running script, by function or address. Elements that it does not add may be another person's. */
  const shared = new Map();
  const share = (source, get) => {
    if (!shared.has(source)) {
      shared.set(source, get());
      queueMicrotask(() => shared.delete(source));
    }
    return shared.get(source);
  };
  const camel = (name) => name.replace(/-(.)/, (_, letter) => letter.toUpperCase());

  class Thumbs extends HTMLElement {
    static observedAttributes = [...TEXTS, "labels", "reasons", "correction"];
    #set = {};
    #held = NOTHING;
    #round = 0;
    #queue = Promise.resolve();
    #parts = null;
    #due = false;
    #fresh = null;
    #signIns = 0;

    static {
      for (const name of TEXTS)
        this.#property(camel(name), (it) => it.getAttribute(name), (it, value) =>
          value == null ? it.removeAttribute(name) : it.setAttribute(name, value));
      for (const name of VALUES) this.#property(name, (it) => it.#value(name), (it, value) => it.#change(name, value));
    }

    static #property(name, read, write) {
      const get = function () { return read(this); };
      const set = function (value) { write(this, value); };
      Object.defineProperty(this.prototype, name, { get, set, configurable: true });
    }

    connectedCallback() {
      // What was set before this script had loaded hides the properties of the class.
      for (const name of [...TEXTS.map(camel), ...VALUES]) {
        if (!Object.hasOwn(this, name)) continue;
        const value = this[name];
        delete this[name];
        this[name] = value;
      }
      if (!this.#parts) this.#build();
      this.#soon();
    }

    disconnectedCallback() {
    }

    attributeChangedCallback(name) {
      if (name === "token-url") this.#forget();
      if (this.#parts) this.#soon(VALUES.includes(name) || name === "scale");
    }

    /** Show what the person holds on the turn now. */
    async reload() {
      const round = ++this.#round;
      this.#hold(NOTHING);
      this.#say();
      if (!this.#address || !this.#maySend) return;
      try {
        const own = await this.#ask("GET");
        if (round !== this.#round) return;
        const { reaction, rating, tags, text, correction } = this.#points ? this.#rated(own) : own;
        const said = { tags: tags ?? [], text: text ?? "", correction: correction ?? "" };
        this.#hold({ reaction: reaction ?? null, rating: rating ?? null, ...said });
        this.#tell("feedback-loaded", { ...this.#held });
      } catch (error) {
        if (round === this.#round && error.status === 401) this.#say("signIn");
      }
    }

    #change(name, value) {
      this.#set[name] = value;
      if (name === "token" || name === "getToken") this.#forget();
      if (this.#parts) this.#soon(!/token/i.test(name));
    }

    /** A property, else the attribute of its name: JSON, or for one without a value, true. */
    #value(name) {
      const text = this.#set[name] === undefined ? this.getAttribute(name) : null;
      if (text === null) return this.#set[name] ?? null;
      try {
        return text === "" || JSON.parse(text);
      } catch {
        return null;
      }
    }

    #label(name) {
      return this.#value("labels")?.[name] ?? LABELS[name] ?? name;
    }

    get #base() {
      return new URL((this.base || HOME).replace(/\/*$/, "/"), location.href);
    }

    /** The ratings to choose from, worst first; null for thumbs. */
    get #points() {
      const points = /^\d+$/.test(this.scale ?? "") ? +this.scale : 0;
      return points >= 2 && points <= 100 ? Array.from({ length: points }, (_, step) => step + 1) : null;
    }

    /** What the person holds on the element's scale. */
    #rated(own) {
      return own.worst_rating === 1 && own.best_rating === +this.scale ? own : NOTHING;
    }

    /** The reaction or the rating that is held; null for none. */
    #chosen(held = this.#held) {
      return this.#points ? held.rating : held.reaction in TAGS ? held.reaction : null;
    }

    get #address() {
      const ids = TEXTS.slice(0, 4).map((name) => this[name]);
      if (ids.some((id) => !id)) return null;
      const [tenant, project, ...rest] = ids;
      return new URL(pathOf(tenant, project, rest[0], "turns", rest[1], "feedback"), this.#base).href;
    }

    /** Another site is never asked without a token: it takes no cookies. */
    get #maySend() {
      return this.token || this.getToken || this.tokenUrl || this.#base.origin === location.origin;
    }

    #soon(rebuild) {
      if (rebuild) this.#build();
      if (this.#due) return;
      this.#due = true;
      queueMicrotask(() => {
        this.#due = false;
        if (!this.isConnected) return;
        this.reload();
      });
    }

    #build() {
      const label = (name) => this.#label(name);
      const points = this.#points;
      const choices = new Map();
      for (const choice of points ?? ["ok", "not_ok"]) {
        const name = points ? `${choice} / ${Math.max(...points)}` : label(choice);
        const said = { type: "button", class: points ? "point" : "thumb", "aria-label": name, title: name };
        const button = make("button", said, points ? String(choice) : hand());
        button.onclick = () => this.#press(choice);
        choices.set(choice, button);
      }
      const why = make("button", { type: "button", "aria-expanded": "false" }, label("why"));
      const tags = make("div", { class: "tags", role: "group" });
      const [text, correction] = [0, 1].map(() => make("textarea", { maxlength: 10_000, rows: 2 }));
      const right = make("label", {}, label("correction"), correction);
      const close = make("button", { type: "button" }, label("close"));
      const end = make("div", { class: "end" }, close, make("button", { type: "submit" }, label("send")));
      const form = make("form", {}, tags, make("label", {}, label("words"), text), right, end);
      const status = make("span", { role: "status" });
      form.onsubmit = (event) => this.#explain(event);
      form.onkeydown = (event) => {
        if (event.key === "Escape") this.#close();
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
      };
      close.onclick = () => this.#close();
      why.onclick = () => {
        this.#open();
        text.focus();
      };
      const row = make("div", { class: "row", role: "group", "aria-label": label("group") }, ...choices.values());
      row.append(why, status);
      this.#parts = { choices, why, tags, text, correction, right, form, status };
      const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
      root.adoptedStyleSheets = [STYLE];
      root.replaceChildren(row, form);
      this.#hold(this.#held);
    }

    #hold(held) {
      this.#held = held;
      for (const [choice, button] of this.#parts.choices)
        button.setAttribute("aria-pressed", this.#chosen(held) === choice);
      this.#fold(true);
    }

    /** Show or hide the form; there is one only for a judgement that is held. */
    #fold(closed) {
      const { form, why } = this.#parts;
      const nothing = this.#chosen() === null;
      form.hidden = closed || nothing;
      why.hidden = !closed || nothing;
      why.setAttribute("aria-expanded", !form.hidden);
    }

    #say(name) {
      this.#parts.status.textContent = name ? this.#label(name) : "";
    }

    #tell(name, detail) {
      this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
    }

    #press(choice) {
      const back = this.#chosen() === choice;
      this.#send({ ...NOTHING, [this.#points ? "rating" : "reaction"]: back ? null : choice }, back ? "back" : "sent");
      this.#open();
    }

    #explain(event) {
      event.preventDefault();
      const { tags, text, correction } = this.#parts;
      const chosen = [...tags.children].filter((tag) => tag.ariaPressed === "true").map((tag) => tag.dataset.tag);
      const said = { text: text.value.trim(), correction: correction.value.trim() };
      this.#close();
      this.#send({ ...this.#held, tags: chosen, ...said }, "noted");
    }

    #open() {
      const { tags, text, correction, right } = this.#parts;
      const { reaction, tags: chosen } = this.#held;
      text.value = this.#held.text;
      correction.value = this.#held.correction;
      right.hidden = !this.correction || !!this.#points || reaction !== "not_ok";
      const offered = this.#points ? [] : (this.reasons ?? TAGS)[reaction] ?? [];
      tags.hidden = !offered.length;
      tags.setAttribute("aria-label", this.#label(`${reaction}_why`));
      tags.replaceChildren(...offered.map((tag) => {
        const pressed = chosen.includes(tag);
        const button = make("button", { type: "button", "aria-pressed": pressed, "data-tag": tag }, this.#label(tag));
        button.onclick = () => button.setAttribute("aria-pressed", button.ariaPressed !== "true");
        return button;
      }));
      this.#fold(false);
    }

    #close() {
      const { form, choices } = this.#parts;
      const inside = form.contains(this.shadowRoot.activeElement);
      this.#fold(true);
      if (inside) (choices.get(this.#chosen()) ?? choices.values().next().value).focus();
    }

    /** Another way to a token may lead to another person. An element's first one, before it is shown, is no other. */
    #forget() {
      if (this.#parts) shared.clear();
      this.#fresh = null;
      this.#signIns++;
    }

    /** Shown at once, sent in order as whoever pressed, and taken back on screen where the platform refuses it. */
    #send(wanted, thanks) {
      const before = this.#held;
      const round = ++this.#round;
      const address = this.#address;
      const body = this.#body(wanted);
      const bearer = this.#ownBearer();
      this.#hold(wanted);
      this.#say();
      this.#queue = this.#queue.then(async () => {
        try {
          const taken = await this.#ask("POST", body, address, bearer);
          if (round === this.#round) this.#say(thanks);
          this.#tell("feedback", { ...wanted, feedbackId: taken.feedback_id });
        } catch (error) {
          this.#tell("feedback-error", { ...wanted, status: error.status ?? null });
          if (round !== this.#round) return;
          this.#hold(before);
          this.#say(TROUBLE[error.status] ?? "failed");
        }
      });
    }

    /** The request for what is wanted: a retraction carries nothing else. */
    #body({ reaction, rating, tags, text, correction }) {
      const scale = +this.scale;
      if (this.#points) return rating === null ? { rating, scale } : { rating, scale, text: text || null };
      return reaction ? { reaction, tags, text: text || null, correction: correction || null } : { reaction };
    }

    /** The way to the token of whoever is signed in now; it never leads to the token of the next person. */
    #ownBearer() {
      const signIn = this.#signIns;
      const bearer = this.#bearer();
      bearer.catch(() => {});
      return (renew) => {
        if (!renew) return bearer;
        if (signIn !== this.#signIns) throw new FeedbackError(401);
        return this.#bearer(true);
      };
    }

    /** The person's token; kept until the platform refuses it. Empty where there is none. */
    #bearer(renew) {
      if (renew) this.#fresh = null;
      if (this.#fresh) return this.#fresh;
      const asked = (this.#fresh = this.#token());
      const drop = () => this.#fresh === asked && (this.#fresh = null);
      asked.then((token) => token || drop(), drop);
      return asked;
    }

    #token() {
      const { token, getToken, tokenUrl } = this;
      const call = getToken || (typeof token === "function" && token);
      const source = call || (!token && tokenUrl);
      if (!source) return Promise.resolve(token || "");
      return share(source, async () => {
        const given = call && (await call.call(this));
        if (given || getToken || !tokenUrl) return given || "";
        const answer = await fetch(tokenUrl, { credentials: "same-origin", cache: "no-store" });
        if (!answer.ok) throw new FeedbackError(401);
        return (await answer.json()).token || "";
      });
    }

    /** The answer's JSON; a token that has run out is fetched anew. */
    async #ask(method, body, address = this.#address, bearer = (renew) => this.#bearer(renew)) {
      return (await ask(address, { method, body: body && JSON.stringify(body) }, bearer)).json();
    }
  }

  customElements.define("agent-feedback-thumbs", Thumbs);
})();
