"""Tables of the page, before they are drawn."""

from collections.abc import Sequence
from typing import NamedTuple

from armwise.report.charts import Chart

# Longer text in a cell gets room.
LONG_TEXT = 30


class PageTable(NamedTuple):
    """A table with a caption.

    Attributes:
        caption: above it.
        header: of the columns.
        rows: cells as text.
        words: the first so many columns are text; the others are numbers, set to the right.
        extra: places of columns that are left out on a phone and on paper.
        note: below the caption.
    """

    caption: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    words: int = 1
    extra: tuple[int, ...] = ()
    note: str | None = None

    def style(self, place: int, content: str) -> str:
        """The classes of a cell in the column at a place."""
        kind = "number" if place >= self.words else "long" if len(content) > LONG_TEXT else ""
        return f"{kind} extra".strip() if place in self.extra else kind


class ChartWithTable(NamedTuple):
    """A chart, if there is anything to draw, and its numbers."""

    chart: Chart | None
    numbers: PageTable
