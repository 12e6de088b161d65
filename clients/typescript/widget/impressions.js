/**
 * Reports of the answers whose controls became visible: once per answer and token, several turns in one request. A report
 * that fails is dropped without a message: the figure is a count of many, and the person has not asked for anything.
 */
import { ask } from "../src/asking.ts";

/** Share of an element that must be visible. */
const VISIBLE = 0.5;
/** Time in milliseconds during which further turns are collected for one request. */
const COLLECTED = 1_000;
/** Most turns that one request takes. */
const MOST = 50;

const sources = new WeakMap();
const reported = new Set();
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
    const shown = sources.get(target)();
    if (!shown) continue;
    seen.push(shown);
    timer ||= setTimeout(report, COLLECTED);
  }
}, { threshold: VISIBLE });

async function report() {
  clearTimeout(timer);
  timer = 0;
  const collected = seen;
  seen = [];
  const tokens = await Promise.allSettled(collected.map(({ bearer }) => bearer(false)));
  const batches = new Map();
  for (const [at, { address, turn, bearer }] of collected.entries()) {
    const { status, value } = tokens[at];
    const impression = JSON.stringify([address, turn, value]);
    if (status === "rejected" || reported.has(impression)) continue;
    reported.add(impression);
    const name = JSON.stringify([address, value]);
    if (!batches.has(name)) batches.set(name, { address, bearer, turns: [] });
    batches.get(name).turns.push(turn);
  }
  for (const { address, bearer, turns } of batches.values())
    for (let first = 0; first < turns.length; first += MOST) {
      const body = JSON.stringify({ turn_ids: turns.slice(first, first + MOST) });
      ask(address, { method: "POST", body, keepalive: true }, bearer).catch(() => {});
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
  observer.unobserve(element);
};
