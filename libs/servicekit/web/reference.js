
const field = document.querySelector("input");
const count = document.querySelector("output");
const entries = [...document.querySelectorAll("details")].map((entry) => [entry, entry.textContent.toLowerCase()]);
field.closest("p").hidden = false;
field.addEventListener("input", () => {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const [entry, text] of entries) entry.hidden = !words.every((word) => text.includes(word));
  for (const section of document.querySelectorAll("section"))
    section.hidden = !section.querySelector("details:not([hidden])");
  const found = entries.filter(([entry]) => !entry.hidden).length;
  count.textContent = words.length ? `${found} of ${entries.length}` : "";
});
