"""The contents of the page's tables."""

from collections.abc import Sequence
from typing import NamedTuple

from armwise.report.charts import Chart

# A text cell longer than this gets the CSS class "long".
LONG_TEXT = 30


class PageTable(NamedTuple):
    """A table with a caption.

    Attributes:
        caption: the text above the table.
        header: the names of the columns.
        rows: the cells as text.
        words: how many of the first columns are text; the others are numbers, aligned to the right.
        extra: indices of columns that are hidden on a phone and on paper.
        note: a text below the caption.
    """

    caption: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    words: int = 1
    extra: tuple[int, ...] = ()
    note: str | None = None

    def style(self, place: int, content: str) -> str:
        """The CSS classes of a cell, by the index of its column and its content."""
        kind = "number" if place >= self.words else "long" if len(content) > LONG_TEXT else ""
        return f"{kind} extra".strip() if place in self.extra else kind


class ChartWithTable(NamedTuple):
    """A chart, or none if there is nothing to draw, and the table of its numbers."""

    chart: Chart | None
    numbers: PageTable
