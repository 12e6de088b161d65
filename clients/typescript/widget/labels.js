/** Texts of the widget by name. The property `labels` replaces any of them (docs/http.md). */
export const LABELS = {
  group: "Was this answer helpful?", ok: "Good answer", not_ok: "Bad answer", why: "Say why",
  ok_why: "What was good about it?", not_ok_why: "What was wrong with it?", words: "In your own words (optional)",
  correction: "What should the answer have been? (optional)", send: "Send", close: "Close", sent: "Thank you.",
  noted: "Thank you, noted.", back: "Taken back.", signIn: "Sign in to give feedback.",
  forbidden: "You may not give feedback here.", unknown: "This answer is not known.",
  failed: "That did not work; try again.",
  correct: "Correct", helpful: "Helpful", well_put: "Well put",
  wrong: "Wrong", off_topic: "Off topic", incomplete: "Incomplete", too_long: "Too long",
};
