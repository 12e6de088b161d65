"""Charts as inline SVG. No I/O.

The markup contains only numbers, dates, and escaped URLs and labels. Colours and fonts come from the style sheet, so
the same SVG works in light and dark mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from markupsafe import Markup, escape

from reporting.figures.votes import Votes
from reporting.model.selection import Bucket
from reporting.pages.zones import local

_LEFT, _RIGHT, _TOP, _GAP, _BOTTOM = 40, 10, 12, 26, 26
_UP: Final = ("ok", "neutral", "not_ok")
_FORMATS: Final[dict[Bucket, str]] = {"hour": "%H:%M", "day": "%-d %b", "week": "%-d %b"}
_LONG: Final[dict[Bucket, str]] = {"hour": "%-d %b, %H:%M", "day": "%-d %b %Y", "week": "week of %-d %b %Y"}


class Step(NamedTuple):
    """Time step of a chart.

    Attributes:
        start: Start of the step, in microseconds.
        href: Link to the feedback from this step.
    """

    start: int
    votes: Votes
    href: str | None = None


def over_time(steps: Sequence[Step], bucket: Bucket, width: int, height: int, zone: ZoneInfo) -> Markup:
    """Draw satisfaction over time, with the volume of verdicts below it.

    Satisfaction is a line with its 95 % confidence band. The volume is a stacked bar per step.
    """
    plot, slot = width - _LEFT - _RIGHT, (width - _LEFT - _RIGHT) / max(1, len(steps))
    upper = round((height - _TOP - _GAP - _BOTTOM) * 0.66)
    lower_top, base = _TOP + upper + _GAP, height - _BOTTOM
    most = _round_up(max((step.votes.total for step in steps), default=0))
    parts = [_grid(width, upper, lower_top, base, most)]
    parts += _band_and_line(steps, slot, upper)
    bar, tall = max(1.0, min(slot * 0.72, 28.0)), base - lower_top
    for index, step in enumerate(steps):
        drawn = _stack(step.votes, _UP, _LEFT + slot * index + (slot - bar) / 2, bar, base, tall / most)
        title = _title(step, bucket, zone)
        hit = f'<rect class="hit" x="{_LEFT + slot * index:.1f}" y="{_TOP}" width="{slot:.2f}" height="{base - _TOP}"/>'
        group = f'<g class="step"><title>{title}</title>{hit}{drawn}</g>'
        parts.append(f'<a href="{escape(step.href)}">{group}</a>' if step.href and step.votes.total else group)
    parts += _dates(steps, bucket, slot, plot, height, zone)
    return _svg(f'viewBox="0 0 {width} {height}" role="group" aria-label="Satisfaction and volume over time"', *parts)


def _svg(attributes: str, *parts: str) -> Markup:
    return Markup(f"<svg {attributes}>{''.join(parts)}</svg>")  # noqa: S704  # numbers, dates, escaped URLs and labels


def _grid(width: int, upper: int, lower_top: int, base: int, most: int) -> str:
    right, lines = width - _RIGHT, []
    for share in (0, 50, 100):
        y = _TOP + upper * (1 - share / 100)
        lines.append(f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        lines.append(f'<text class="tick" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{share}%</text>')
    for count, y in ((most, lower_top), (0, base)):
        lines.append(f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{y}" y2="{y}"/>')
        lines.append(f'<text class="tick" x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{_short(count)}</text>')
    return "".join(lines)


def _band_and_line(steps: Sequence[Step], slot: float, upper: int) -> list[str]:
    """Draw the satisfaction line with its confidence band.

    The line is interrupted at time steps without votes. A single step between two interruptions is drawn as a dot with
    a whisker.
    """
    parts = []
    for run in _runs(steps):
        points = []
        for index in run:
            votes, x = steps[index].votes, _LEFT + slot * (index + 0.5)
            low, high = votes.sure
            share = votes.ok / votes.total
            points.append((x, *(_TOP + upper * (1 - value) for value in (share, high, low))))
        if len(points) == 1:
            x, y, high_y, low_y = points[0]
            parts.append(f'<line class="whisker" x1="{x:.1f}" x2="{x:.1f}" y1="{high_y:.1f}" y2="{low_y:.1f}"/>')
            parts.append(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3"/>')
            continue
        edge = [f"{x:.1f},{high_y:.1f}" for x, _, high_y, _ in points]
        edge += [f"{x:.1f},{low_y:.1f}" for x, _, _, low_y in reversed(points)]
        parts.append(f'<polygon class="band" points="{" ".join(edge)}"/>')
        parts.append(f'<polyline class="line" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y, *_ in points)}"/>')
    return parts


def _runs(steps: Sequence[Step]) -> list[list[int]]:
    runs: list[list[int]] = []
    for index, step in enumerate(steps):
        if step.votes.total:
            if runs and runs[-1][-1] == index - 1:
                runs[-1].append(index)
            else:
                runs.append([index])
    return runs


def _dates(steps: Sequence[Step], bucket: Bucket, slot: float, plot: float, height: int, zone: ZoneInfo) -> list[str]:
    room = max(1, int(plot // 76))
    every = max(1, -(-len(steps) // room))
    return [
        f'<text class="tick" x="{_LEFT + slot * (index + 0.5):.1f}" y="{height - 8}" text-anchor="middle">'
        f"{local(steps[index].start, zone):{_FORMATS[bucket]}}</text>"
        for index in range(every // 2, len(steps), every)
    ]


def _title(step: Step, bucket: Bucket, zone: ZoneInfo) -> str:
    when = f"{local(step.start, zone):{_LONG[bucket]}}"
    votes = step.votes
    if not votes.total:
        return f"{when}: no reactions"
    share = round(100 * votes.ok / votes.total)
    return f"{when}: {share}% of {votes.total} ({votes.ok} ok, {votes.neutral} neutral, {votes.not_ok} not ok)"


def interval(share: float, low: float, high: float) -> Markup:
    """Draw a proportion with its interval on a scale from 0 to 100 %.

    All values are between 0 and 1.
    """
    positions = [f"{6 + 388 * value:.1f}" for value in (low, high, share)]
    return _svg(
        'class="interval" viewBox="0 0 400 18" aria-hidden="true"',
        '<line class="grid" x1="6" x2="394" y1="9" y2="9"/>',
        *(f'<line class="grid" x1="{x}" x2="{x}" y1="5" y2="13"/>' for x in (6, 200, 394)),
        f'<line class="range" x1="{positions[0]}" x2="{positions[1]}" y1="9" y2="9"/>',
        f'<circle class="dot" cx="{positions[2]}" cy="9" r="4.5"/>',
    )


def spark(steps: Sequence[Votes]) -> Markup:
    """Draw a sparkline of the volume: one stacked bar per step, with rejections at the bottom."""
    most = max((votes.total for votes in steps), default=0) or 1
    bars = [_stack(votes, _UP[::-1], 6 * index, 5, 22, 22 / most) for index, votes in enumerate(steps)]
    return _svg(f'class="spark" viewBox="0 0 {6 * len(steps)} 22" aria-hidden="true"', *bars)


def _stack(votes: Votes, upwards: Sequence[str], x: float, width: float, base: float, scale: float) -> str:
    """Draw a stacked bar of the three reactions from `base` upwards, `scale` high for each vote."""
    parts, y = [], base
    for name in upwards:
        size = scale * getattr(votes, name)
        y -= size
        if size:
            parts.append(f'<rect class="{name}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{size:.1f}"/>')
    return "".join(parts)


def split(votes: Votes) -> Markup:
    """Draw the proportions of the three reactions as one stacked bar.

    The bar is empty if there are no reactions.
    """
    x, parts = 0.0, []
    for name, count in (("ok", votes.ok), ("neutral", votes.neutral), ("not_ok", votes.not_ok)):
        if count:
            size = 100 * count / votes.total
            parts.append(f'<rect class="{name}" x="{x:.2f}" width="{size:.2f}" height="10"/>')
            x += size
    return _svg(
        'class="split" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"',
        '<rect class="track" width="100" height="10"/>',
        *parts,
    )


def _round_up(count: int) -> int:
    """Return `count` rounded up to a round number, as the upper end of an axis; at least 1."""
    scale = 1
    while True:
        for step in (1, 2, 3, 4, 5, 6, 8):
            if count <= step * scale:
                return step * scale
        scale *= 10


def _short(count: int) -> str:
    return f"{count // 1000}k" if count >= 10_000 else f"{count:,}"
