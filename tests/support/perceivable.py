"""Measurement of pages in a browser: contrast of all visible text (WCAG 2.2, 1.4.3), order and visibility of the
focus (2.4.7)."""

from __future__ import annotations

from typing import Any

_ELEMENTS = """
const elements = root => [...root.querySelectorAll("*")].flatMap(
  one => [one, ...(one.shadowRoot ? elements(one.shadowRoot) : [])]);
const parent = one => one.parentElement ?? one.getRootNode().host ?? null;
const named = one => `${one.tagName.toLowerCase()}.${one.className?.baseVal ?? one.className} "${
  (one.ariaLabel ?? one.innerText ?? "").trim().slice(0, 40)}"`;
const shown = one => one.checkVisibility({ opacityProperty: true, visibilityProperty: true })
  && one.getClientRects().length > 0 && one.getBoundingClientRect().width > 1;
"""
_CONTRASTS = (
    "() => {"
    + _ELEMENTS
    + """
const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const rgba = colour => {
  canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255]; };
const probe = document.createElement("div");
probe.style.background = "Canvas"; probe.style.colorScheme = getComputedStyle(document.documentElement).colorScheme;
document.documentElement.append(probe);
const canvasColour = rgba(getComputedStyle(probe).backgroundColor).slice(0, 3);
probe.remove();
const over = ([r, g, b, a], under) => [r, g, b].map((value, at) => value * a + under[at] * (1 - a));
const ground = one => {
  if (!one) return canvasColour;
  const colour = rgba(getComputedStyle(one).backgroundColor);
  return colour[3] === 1 ? colour.slice(0, 3) : over(colour, ground(parent(one))); };
const luminance = colour => colour.map(value => value / 255)
  .map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
  .reduce((sum, value, at) => sum + value * [0.2126, 0.7152, 0.0722][at], 0);
const opacity = one => one ? Number(getComputedStyle(one).opacity) * opacity(parent(one)) : 1;
return elements(document).filter(one => shown(one) && !one.disabled && !one.closest("[aria-hidden=true], svg")
    && [...one.childNodes].some(node => node.nodeType === 3 && node.data.trim())).map(one => {
  const style = getComputedStyle(one), behind = ground(one), [r, g, b, a] = rgba(style.color);
  const [light, dark] = [over([r, g, b, a * opacity(one)], behind), behind].map(luminance).sort((x, y) => y - x);
  const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
  return [named(one), (light + 0.05) / (dark + 0.05), large ? 3 : 4.5]; });
}"""
)
_MISSED = (
    "() => {"
    + _ELEMENTS
    + """
const isReached = one => tabStops.some(stop => stop === one
  || (one.type === "radio" && stop.type === "radio" && stop.name === one.name));  // Tab reaches one of a group
return elements(document).filter(one => one.matches("a[href], button, input, select, textarea, summary, [tabindex]")
  && one.tabIndex >= 0 && !one.disabled && shown(one) && !isReached(one)).map(named); }"""
)
_FOCUSED = (
    "() => {"
    + _ELEMENTS
    + """
let one = document.activeElement;
while (one?.shadowRoot?.activeElement) one = one.shadowRoot.activeElement;
if (!one || one === document.body) return null;
const marks = element => { const style = getComputedStyle(element);
  return [style.outlineStyle === "none" ? "" : style.outline, style.boxShadow, style.borderColor, style.backgroundColor,
          style.textDecorationLine].join(); };
const around = [one, ...(one.labels ?? []), one.nextElementSibling].filter(Boolean);
const focused = around.map(marks);
window.tabStops ??= []; window.tabStops.push(one);
one.blur(); const plain = around.map(marks); one.focus({ focusVisible: true });
return [tabStops.indexOf(one) === tabStops.length - 1, named(one), focused.some((mark, at) => mark !== plain[at])]; }"""
)
_TO_START = """() => {
const start = document.createElement("span");
start.tabIndex = -1; document.body.prepend(start); start.focus(); window.tabStops = []; }"""


async def faint_texts(page: Any) -> list[tuple[str, float]]:
    """Return each visible text whose contrast with its background is too low, with the ratio."""
    measured = await page.evaluate(_CONTRASTS)
    assert measured
    return [(name, round(ratio, 2)) for name, ratio, needed in measured if ratio < needed]


async def tab_stops(page: Any) -> list[str]:
    """Press Tab through the whole page. Raises AssertionError unless every control is reached and shows its focus."""
    await page.evaluate(_TO_START)
    names: list[str] = []
    while len(names) < 200:
        await page.keyboard.press("Tab")
        stop = await page.evaluate(_FOCUSED)
        if stop is None or not stop[0]:
            break
        names.append(stop[1])
        assert stop[2], f"{stop[1]} looks the same with the focus as without"
    missed = await page.evaluate(_MISSED)
    assert missed == [], f"Tab reaches {names}"
    return names
