/**
 * Reports of the answers whose controls became visible: once per answer and token, several turns in one request. A report
 * that fails is repeated some times while the controls are in view, and then dropped without a message: the figure is a
 * count of many, and the person has not asked for anything.
 */
import { ask } from "../src/asking.ts";

/** Share of an element that must be visible. */
const VISIBLE = 0.5;
/** Time in milliseconds during which further turns are collected for one request. */
const COLLECTED = 1_000;
/** Most turns that one request takes. */
const MOST = 50;
/** Times in milliseconds after which a look follows on a failed report, for each failure in turn. */
const AGAIN = [5_000, 20_000, 60_000];

const sources = new WeakMap();
const reported = new Set();
/** Number of failures by what was to be reported. */
const failures = new Map();
let seen = [];
let timer = 0;
/** Elements in view that nobody sees: an observer does not look at opacity and visibility. */
const transparent = new Set();
const OPAQUE = { opacityProperty: true, visibilityProperty: true };

const observer = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    transparent.delete(target);
    if (!isIntersecting) continue;
    if (target.checkVisibility?.(OPAQUE) === false) {
      transparent.add(target);
      continue;
    }
    observer.unobserve(target);
    const shown = sources.get(target)?.();
    if (shown) collect(target, shown);
  }
}, { threshold: VISIBLE });

/** Wait for the token of each turn by itself: one that never comes holds up no other. */
async function collect(target, { address, turn, bearer }) {
  const one = { target, address, turn, bearer, impression: JSON.stringify([address, turn]) };
  try {
    one.token = await bearer(false);
  } catch {
    return again([one]);
  }
  one.impression = JSON.stringify([address, turn, one.token]);
  if (reported.has(one.impression)) return;
  reported.add(one.impression);
  seen.push(one);
  if (document.visibilityState === "hidden") report();
  else timer ||= setTimeout(report, COLLECTED);
}

function report() {
  clearTimeout(timer);
  timer = 0;
  const batches = new Map();
  for (const one of seen) {
    // Another token may be another person's.
    const name = JSON.stringify([one.address, one.token]);
    if (!batches.has(name)) batches.set(name, []);
    batches.get(name).push(one);
  }
  seen = [];
  for (const batch of batches.values())
    for (let first = 0; first < batch.length; first += MOST) send(batch.slice(first, first + MOST));
}

async function send(batch) {
  const [{ address, bearer }] = batch;
  const body = JSON.stringify({ turn_ids: batch.map(({ turn }) => turn) });
  try {
    const answer = await ask(address, { method: "POST", body, keepalive: true }, bearer);
    // An answer may be on the page before it is in the log.
    if ((await answer.json()).accepted < batch.length) again(batch);
  } catch {
    again(batch);
  }
}

/** Look at the elements again after a while, some times. */
function again(batch) {
  for (const { target, impression } of batch) {
    const failed = failures.get(impression) ?? 0;
    if (failed === AGAIN.length) continue;
    failures.set(impression, failed + 1);
    reported.delete(impression);
    setTimeout(() => sources.has(target) && look(target), AGAIN[failed]);
  }
}

// A page in the background may never come back.
addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden" && seen.length) report();
});

/** Have the observer look again, in the next frame. */
const look = (element) => {
  observer.unobserve(element);
  observer.observe(element);
};

// Controls that are transparent are often shown while the pointer or the focus is near them, or after a transition.
for (const event of ["pointerover", "focusin", "transitionend"])
  addEventListener(event, () => transparent.forEach(look), { passive: true });

/**
 * Report `element` as soon as it is visible. `shown` then gives the address, the turn and the way to the token of whoever
 * is signed in; null for no report.
 */
export function watch(element, shown) {
  sources.set(element, shown);
  look(element);
}

export const unwatch = (element) => {
  transparent.delete(element);
  sources.delete(element);
  observer.unobserve(element);
};
