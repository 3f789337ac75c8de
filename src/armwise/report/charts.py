"""Charts as inline SVG, 400 units wide. A phone shows them at about this size, and a desktop a little larger.

Colours and fonts come from the page's style sheet by class, so that they adapt to a dark screen. Series differ in shape
as well as in colour. Labels are above their rows, where a long label has room.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from armwise.report.markup import join, tag
from armwise.weekly.shares import Number

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 400, 52, 22, 12, 44
LONGEST_LABEL = 44
# An axis reaches at least this far, so that tiny values look tiny.
LEAST_TOP = 0.1
# The shape of each series; the CSS classes are "series-0", "series-1" and so on. More series would repeat shapes.
SHAPES = ("circle", "square", "diamond", "triangle")


class Point(NamedTuple):
    """A value with its interval."""

    value: float
    low: float
    high: float


class Row(NamedTuple):
    """A labelled row with one point for each series. A point that is None is not drawn."""

    label: str
    points: tuple[Point | None, ...]


class LegendEntry(NamedTuple):
    """A series in the legend: its mark as a small drawing, and its name."""

    sign: Markup
    name: str


class Chart(NamedTuple):
    """A drawing under its title, with a legend if it has several series.

    Attributes:
        name: the chart's name, unique on the page.
        title: the title above the drawing.
        drawing: the complete SVG element, with text from files escaped.
        legend: the entries of the legend, one for each series.
    """

    name: str
    title: str
    drawing: Markup
    legend: tuple[LegendEntry, ...]


class Scale(NamedTuple):
    """Maps numbers between ``low`` and ``high`` to positions between ``start`` and ``end``."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: Number) -> float:
        """The position of a number, rounded to a tenth of a unit."""
        return round(self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start), 1)


def row_chart(
    name: str,
    title: str,
    rows: Sequence[Row],
    series: Sequence[str],
    form: str = "{:.0%}",
    ends: tuple[str, str] | None = None,
) -> Chart:
    """Draw rows: for each, its label and below it a mark for each series, with its interval if there is one.

    The axis always includes 0. Gridlines are drawn only behind the marks, so that they do not cross labels. ``ends``
    says what lies to the left and to the right of 0.
    """
    step, foot = 24 + 11 * len(series), 26 if ends is None else 46
    height = TOP + step * len(rows) + foot
    points = [point for row in rows for point in row.points if point is not None]
    known = [edge for point in points for edge in point if not math.isnan(edge)]
    ticks = nice_ticks(min([0.0, *known]), max([LEAST_TOP, *known]))
    x = Scale(ticks[0], ticks[-1], 18, WIDTH - 24)
    # The label of 0 has no sign.
    labels = [form.format(tick).replace("-", "−") if tick else form.format(0).lstrip("+") for tick in ticks]
    parts = [_text(x(tick), height - foot + 18, label, "middle") for tick, label in zip(ticks, labels, strict=True)]
    if ends is not None:
        parts += [_text(2, height - 6, ends[0], "start"), _text(WIDTH - 2, height - 6, ends[1], "end")]
    for place, row in enumerate(rows):
        top = TOP + step * place
        parts += [_behind(x(tick), top + 17, top + step - 2, tick == 0) for tick in ticks]
        parts.append(_text(2, top + 12, _short(row.label), "start", "label"))
        for number, point in enumerate(row.points):
            if point is not None and not math.isnan(point.value):
                parts += _mark(x, point, top + 24 + 11 * number, number)
    described = "; ".join(_describe(row, series, form) for row in rows)
    return _chart(name, title, f"{described}.", height, parts, series if len(series) > 1 else ())


def bar_chart(name: str, title: str, bars: Sequence[tuple[str, Number]]) -> Chart:
    """Draw numbers of people as horizontal bars, each with its label above it and its number at its end."""
    height, top = TOP + 40 * len(bars), max([1.0, *(value for _, value in bars)])
    x = Scale(0, top, 2, WIDTH - 70)
    parts = []
    for place, (label, value) in enumerate(bars):
        y = TOP + 40 * place
        parts.append(_text(2, y + 12, _short(label), "start", "label"))
        parts.append(tag("rect", x=2, y=y + 17, width=round(x(value) - 2, 1), height=14, class_="bar"))
        parts.append(_text(x(value) + 6, y + 29, f"{value:,.0f}", "start"))
    described = "; ".join(f"{label}: {value:,.0f}" for label, value in bars)
    return _chart(name, title, f"{described}.", height, parts, ())


def column_chart(
    name: str, title: str, values: Sequence[Number], marked: Sequence[int], x_title: str, y_title: str
) -> Chart:
    """Draw a share for each step as a column from 0 to 100 %. The marked columns are hollow."""
    height = 220
    x, y = Scale(0, len(values), LEFT, WIDTH - RIGHT), Scale(0, 1, height - BOTTOM, TOP)
    ticks = [0.0, 0.25, 0.5, 0.75, 1.0]
    parts = [_grid(y, ticks, [f"{tick:.0%}" for tick in ticks])]
    gap, every = 0.15, max(1, -(-len(values) // 8))
    for place, value in enumerate(values):
        left, right = x(place + gap), x(place + 1 - gap)
        shape = {"x": left, "y": y(value), "width": round(right - left, 1), "height": round(y(0) - y(value), 1)}
        parts.append(tag("rect", class_="bar hollow" if place in marked else "bar", **shape))
        if place % every == 0:
            parts.append(_text(x(place + 0.5), height - BOTTOM + 18, str(place + 1), "middle"))
    parts.append(_x_title(height, x_title))
    described = f"{y_title} by {x_title}, from {values[0]:.0%} in the first to {values[-1]:.0%} in the last."
    return _chart(name, title, described, height, parts, ())


def agreement_chart(name: str, title: str, points: Sequence[tuple[Number, Point]], x_title: str) -> Chart:
    """Plot observed shares with intervals against predicted shares, and the line on which the two are equal."""
    height = 290
    x, y = Scale(0, 1, LEFT, WIDTH - RIGHT), Scale(0, 1, height - BOTTOM, TOP)
    ticks = [0.0, 0.25, 0.5, 0.75, 1.0]
    parts = [_grid(y, ticks, [f"{tick:.0%}" for tick in ticks])]
    parts += [_text(x(tick), height - BOTTOM + 18, f"{tick:.0%}", "middle") for tick in ticks]
    parts.append(tag("line", x1=x(0), y1=y(0), x2=x(1), y2=y(1), class_="equal"))
    for predicted, point in points:
        parts.append(tag("line", x1=x(predicted), x2=x(predicted), y1=y(point.low), y2=y(point.high), class_="reach"))
        parts.append(tag("circle", cx=x(predicted), cy=y(point.value), r=4, class_="mark series-0"))
    parts.append(_x_title(height, x_title))
    described = "; ".join(f"predicted {predicted:.0%}, observed {point.value:.0%}" for predicted, point in points)
    return _chart(name, title, f"{described}.", height, parts, ())


def nice_ticks(low: Number, high: Number) -> list[float]:
    """Four to seven round numbers that include both ends; fewer if the ends are closer together than 0.001.

    Example:
        >>> nice_ticks(0.31, 0.47)
        [0.3, 0.35, 0.4, 0.45, 0.5]
    """
    width = max(high - low, 1e-3)
    power = 10.0 ** math.floor(math.log10(width / 4))
    step = next(step for step in (power, 2 * power, 2.5 * power, 5 * power, 10 * power) if width / step <= 5)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(number * step, 10) for number in range(first, max(last, first + 1) + 1)]


def _chart(
    name: str, title: str, described: str, height: Number, parts: Sequence[Markup], series: Sequence[str]
) -> Chart:
    """Put the parts together. The drawing contains its title and its numbers in words, for people who cannot see it."""
    words = (tag("title", title, id=f"{name}-title"), tag("desc", described, id=f"{name}-desc"))
    labelled = {"role": "img", "aria_labelledby": f"{name}-title {name}-desc"}
    drawing = tag("svg", *words, *parts, viewBox=f"0 0 {WIDTH} {height}", **labelled)
    return Chart(name, title, drawing, make_legend(series))


def make_legend(series: Sequence[str]) -> tuple[LegendEntry, ...]:
    """The mark and the name of each series."""
    return tuple(LegendEntry(_sign(place), name) for place, name in enumerate(series))


def _sign(place: int) -> Markup:
    mark = _shape(SHAPES[place % len(SHAPES)], 14, 7, f"mark series-{place}")
    return tag("svg", mark, viewBox="0 0 28 14", aria_hidden="true")


def _grid(y: Scale, ticks: Sequence[Number], labels: Sequence[str]) -> Markup:
    lines = [tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y(tick), y2=y(tick), class_="grid") for tick in ticks]
    return join(
        *lines, *(_text(LEFT - 6, y(tick) + 4, label, "end") for tick, label in zip(ticks, labels, strict=True))
    )


def _x_title(height: Number, title: str) -> Markup:
    """The title of the x axis. The caption explains the y axis, because a vertical title is hard to read."""
    return _text((LEFT + WIDTH - RIGHT) / 2, height - 8, title, "middle")


def _behind(x: Number, top: Number, bottom: Number, is_zero: bool) -> Markup:
    return tag("line", x1=x, x2=x, y1=top, y2=bottom, class_="grid zero" if is_zero else "grid")


def _mark(x: Scale, point: Point, y: Number, number: int) -> list[Markup]:
    reach = []
    if not math.isnan(point.low):
        reach = [tag("line", x1=x(point.low), x2=x(point.high), y1=y, y2=y, class_=f"reach series-{number}")]
    return [*reach, _shape(SHAPES[number % len(SHAPES)], x(point.value), y, f"mark series-{number}")]


def _shape(shape: str, x: Number, y: Number, style: str) -> Markup:
    if shape == "circle":
        return tag("circle", cx=x, cy=y, r=4.5, class_=style)
    corners = {
        "square": ((-4, -4), (4, -4), (4, 4), (-4, 4)),
        "diamond": ((0, -5.5), (5.5, 0), (0, 5.5), (-5.5, 0)),
        "triangle": ((0, -5), (5, 4), (-5, 4)),
    }[shape]
    return tag("polygon", points=" ".join(f"{x + dx:g},{y + dy:g}" for dx, dy in corners), class_=style)


def _describe(row: Row, series: Sequence[str], form: str) -> str:
    known = [
        f"{name} {form.format(point.value)}"
        for name, point in zip(series, row.points, strict=True)
        if point is not None and not math.isnan(point.value)
    ]
    return f"{row.label}: {', '.join(known)}"


def _text(x: Number, y: Number, content: str, anchor: str, style: str = "tick") -> Markup:
    return tag("text", content, x=x, y=y, text_anchor=anchor, class_=style)


def _short(label: str) -> str:
    return label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…"
