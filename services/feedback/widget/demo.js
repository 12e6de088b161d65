/** A small conversation, put in over HTTP, with a thumbs element under every answer. */
const TENANT = "demo";
const PROJECT = "widget";
const AGENT = "museum-guide";
const EXCHANGES = [
  ["When does the museum open on Sundays?", "On Sundays it opens at ten and closes at six."],
  ["And is there a discount for students?", "Yes: students pay half, with a card that shows the current year."],
];
const KEPT = "agent-feedback-token";

const at = (id) => document.getElementById(id);
const token = () => sessionStorage.getItem(KEPT);
const conversation = () => new URLSearchParams(location.hash.slice(1)).get("c");

function ask(path, options = {}) {
  const headers = { ...options.headers, ...(token() && { Authorization: `Bearer ${token()}` }) };
  return fetch(path, { ...options, headers, cache: "no-store" });
}

function feedbackPath(turn) {
  return `/conversations/${TENANT}/${PROJECT}/${encodeURIComponent(conversation())}/turns/${turn}/feedback`;
}

function eventsOf(name) {
  const began = Date.now() - 60_000;
  return EXCHANGES.flatMap((texts, number) =>
    texts.map((content, second) => ({
      topic: "chat.message.ingested",
      eventId: crypto.randomUUID(),
      occurredAt: new Date(began + (2 * number + second) * 5_000).toISOString(),
      messageId: `${name}-${number}-${second}`,
      conversationId: name,
      turnId: `turn-${number}`,
      content,
      ...(second ? { senderId: AGENT, senderType: "agent", agentId: AGENT } : { senderId: "visitor", senderType: "human" }),
    })),
  );
}

async function start() {
  const name = `demo-${crypto.randomUUID()}`;
  const lines = eventsOf(name).map((event) => JSON.stringify(event)).join("\n");
  const answer = await ask(`/ingest/${TENANT}/${PROJECT}/events`, {
    method: "POST",
    headers: { "Content-Type": "application/x-ndjson" },
    body: lines,
  });
  if (!answer.ok) {
    at("trouble").textContent = `The conversation could not be put in (${answer.status}).`;
    return;
  }
  location.hash = new URLSearchParams({ c: name });
}

function line(kind, text) {
  const item = document.createElement("li");
  const said = document.createElement("p");
  item.className = kind;
  said.textContent = text;
  item.append(said);
  return item;
}

function show() {
  at("trouble").textContent = "";
  at("start").textContent = conversation() ? "Start another conversation" : "Start a conversation";
  at("transcript").replaceChildren(...(conversation() ? EXCHANGES.flatMap(exchange) : []));
}

function exchange([question, reply], number) {
  const turn = `turn-${number}`;
  const answered = line("agent", reply);
  const thumbs = document.createElement("agent-feedback-thumbs");
  const held = document.createElement("div");
  thumbs.token = token();
  Object.entries({ tenant: TENANT, project: PROJECT, conversation: conversation(), turn }).forEach(([name, value]) =>
    thumbs.setAttribute(name, value),
  );
  held.className = "held";
  thumbs.addEventListener("feedback", (event) => report(turn, held, event.detail));
  report(turn, held, null);
  answered.append(thumbs, held);
  return [line("person", question), answered];
}

/** What the platform reports of the turn; where something was just sent, as soon as it says so. */
async function report(turn, held, sent) {
  for (let attempt = 0; attempt < 20; attempt++) {
    const answer = await ask(feedbackPath(turn));
    if (!answer.ok) return;
    const { reaction, tags, text } = await answer.json();
    const matches = !sent || (reaction === sent.reaction && (text ?? "") === sent.text);
    if (matches) {
      held.textContent = reaction ? `Reported: ${[reaction, ...tags, text && `“${text}”`].filter(Boolean).join(" · ")}` : "";
      return;
    }
    await new Promise((done) => setTimeout(done, 250));
  }
  held.textContent = "Not reported yet.";
}

async function enter() {
  const answer = await ask(`/conversations/${TENANT}/${PROJECT}/none/turns/none/feedback`);
  at("way-in").hidden = answer.status !== 401;
  at("start").hidden = answer.status === 401;
  at("trouble").textContent = answer.status === 401 && token() ? "That token is not valid." : "";
  if (answer.ok) show();
}

at("snippet").textContent = `<script src="${location.origin}/widget.js"></script>
<agent-feedback-thumbs tenant="acme" project="support"
  conversation="c-42" turn="t-7"></agent-feedback-thumbs>`;
at("start").addEventListener("click", start);
at("way-in").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem(KEPT, new FormData(event.target).get("token").trim());
  enter();
});
addEventListener("hashchange", show);
enter();
