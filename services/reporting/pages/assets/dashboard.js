// The pages work without this script. It avoids reloads, closes menus, and remembers light or dark mode.
"use strict";

const POLL_MS = 2000;
const byId = (id) => document.getElementById(id);
const progress = byId("progress");
const trouble = byId("trouble");
let loading = null;

function complain(text, retry) {
  trouble.firstElementChild.textContent = text;
  trouble.hidden = false;
  trouble.querySelector("button").onclick = () => { trouble.hidden = true; retry(); };
}

async function read(address, signal) {
  const answer = await fetch(address, { signal, credentials: "same-origin" });
  if (answer.status === 401) throw new Error("The access token is no longer valid. Open the printed URL again.");
  if (!answer.ok) throw new Error(`The figures could not be loaded (${answer.status}).`);
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

async function show(address) {
  loading?.abort();
  const mine = (loading = new AbortController());
  progress.hidden = false;
  byId("main").setAttribute("aria-busy", "true");
  try {
    const fresh = await read(address, mine.signal);
    const isFiltering = document.querySelector(".menu.filter")?.open;
    byId("main").replaceWith(document.adoptNode(fresh.getElementById("main")));
    const filter = document.querySelector(".menu.filter");
    if (filter && isFiltering) filter.open = true;
    document.title = fresh.title;
    trouble.hidden = true;
    tellTimes();
    offerCopies();
  } catch (error) {
    if (error.name === "AbortError") return;
    byId("main").removeAttribute("aria-busy");
    complain(error instanceof TypeError ? "The service does not answer." : error.message, () => show(address));
  } finally {
    if (loading === mine) { loading = null; progress.hidden = true; }
  }
}

function filtered() {
  const query = new URLSearchParams(new FormData(byId("filters")));
  for (const [name, value] of [...query]) if (!value) query.delete(name);
  return `${byId("filters").getAttribute("action")}?${query}`;
}

document.addEventListener("change", (event) => {
  if (event.target.form?.id === "project" || event.target.form?.id === "values-chosen") return event.target.form.submit();
  if (!event.target.form || event.target.form.id !== "filters") return;
  const fields = event.target.form.elements;
  if (event.target.name === "period") { fields.from.value = ""; fields.to.value = ""; }
  const address = filtered();
  history.pushState(null, "", address);
  show(address);
});
document.addEventListener("submit", (event) => {
  if (event.target.id !== "filters") return;
  event.preventDefault();
  history.pushState(null, "", filtered());
  show(filtered());
});
addEventListener("popstate", () => { if (byId("filters")) show(location.href); });

// The page for an empty project waits for the first event.
async function waitForFirstEvent() {
  for (;;) {
    await new Promise((done) => setTimeout(done, POLL_MS));
    try { if ((await read(location.href)).getElementById("filters")) return location.reload(); } catch { /* later */ }
  }
}

function tellTimes() {
  const now = Date.now();
  for (const time of document.querySelectorAll("time[datetime]")) {
    time.title ||= time.textContent;
    const seconds = Math.round((now - Date.parse(time.dateTime)) / 1000);
    if (seconds < -60 || seconds > 86400) continue;
    time.textContent = seconds < 60 ? "just now"
      : seconds < 3600 ? `${Math.floor(seconds / 60)} min ago` : `${Math.floor(seconds / 3600)} h ago`;
  }
}

function offerCopies() {
  if (navigator.clipboard) for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;
}
document.addEventListener("click", async (event) => {
  const text = event.target.dataset?.copy;
  if (text === undefined) return;
  try { await navigator.clipboard.writeText(text); event.target.textContent = "copied"; } catch { /* not allowed */ }
});

// A menu closes when the viewer clicks elsewhere or presses Escape.
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll(".menu[open]")) if (!menu.contains(event.target)) menu.open = false;
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of document.querySelectorAll(".menu[open]")) { menu.open = false; menu.querySelector("summary").focus(); }
});

// Pressing the key of a control activates it, unless the viewer has turned keys off.
const KEYS = "agent-feedback-keys";
let keysAreOn = true;
try { keysAreOn = localStorage.getItem(KEYS) !== "off"; } catch { /* not remembered */ }
function offerKeys() {
  const toggle = byId("keys");
  if (!toggle) return;
  toggle.hidden = false;
  toggle.textContent = keysAreOn ? "Turn keys off" : "Turn keys on";
  toggle.onclick = () => {
    keysAreOn = !keysAreOn;
    try { localStorage.setItem(KEYS, keysAreOn ? "on" : "off"); } catch { /* not remembered */ }
    offerKeys();
  };
}
document.addEventListener("keydown", (event) => {
  if (event.repeat || event.altKey) return;
  const field = event.target.closest("textarea, select, input:not([type=radio], [type=checkbox])");
  const command = event.ctrlKey || event.metaKey;
  if (field && event.key === "Escape") field.blur();
  // A better answer implies that the answer was wrong.
  if (field?.name === "correction" && event.key === "Enter" && command) field.form.querySelector("[value=not_ok]").click();
  if (field || command || !keysAreOn) return;
  const control = document.querySelector(`[data-hotkey="${CSS.escape(event.key)}"]`);
  if (!control) return;
  event.preventDefault();
  if (control.matches("a, button")) control.click();
  else control.focus();
});

// Send the viewer's time zone to the server in a cookie; a `tz` parameter in the URL overrides it.
function tellZone() {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone, main = byId("main");
  if (!zone || !main.dataset.zone || document.cookie.includes(`agent_feedback_zone=${zone}`)) return;
  document.cookie = `agent_feedback_zone=${zone}; path=/; max-age=31536000; samesite=strict`;
  if (main.dataset.zone !== zone && !new URLSearchParams(location.search).get("tz")) show(location.href);
}

const theme = byId("theme");
theme.hidden = false;
theme.addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("agent-feedback-theme", root.dataset.theme); } catch { /* not remembered */ }
});

document.documentElement.classList.add("scripted");
tellTimes();
offerCopies();
offerKeys();
tellZone();
if (document.querySelector("[data-watch=empty]")) waitForFirstEvent();
