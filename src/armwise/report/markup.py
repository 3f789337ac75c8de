"""HTML and SVG as text in which everything that comes from a file is escaped, and numbers as people write them."""

import html
import math
import unicodedata
from collections.abc import Sequence

from armwise.weekly.shares import Number

VOID = ("meta", "br")
# Longer text in a cell gets room.
LONG_TEXT = 30


class Markup(str):
    """Finished markup. Any other text is escaped when it becomes part of an element."""

    __slots__ = ()


def tag(name: str, /, *children: str | None, **attributes: object) -> Markup:
    """An element; children that are no ``Markup`` are escaped, and so are attributes; those that are none are left out.

    Example:
        >>> tag("p", "1 < 2", class_="note")
        '<p class="note">1 &lt; 2</p>'
        >>> tag("p", tag("b", "<script>"), None)
        '<p><b>&lt;script&gt;</b></p>'
    """
    pairs = ((key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items() if value is not None)
    opening = "".join(f' {key}="{escape(str(value))}"' for key, value in pairs)
    if name in VOID:
        return Markup(f"<{name}{opening}>")
    return Markup(f"<{name}{opening}>{join(*children)}</{name}>")


def join(*parts: str | None) -> Markup:
    """Several parts, one after the other, as one."""
    return Markup("".join(part if isinstance(part, Markup) else escape(part) for part in parts if part is not None))


def escape(text: str) -> str:
    """Text that means nothing to a browser; what is invisible or steers a terminal becomes a visible mark."""
    visible = "".join(
        "\N{REPLACEMENT CHARACTER}" if unicodedata.category(letter) in ("Cc", "Cf", "Cs") else letter for letter in text
    )
    return html.escape(visible, quote=True)


def table(
    caption: str,
    header: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
    words: int = 1,
    extra: tuple[int, ...] = (),
    note: str | None = None,
) -> Markup:
    """A table with a caption; the first ``words`` columns are text and the others numbers, set to the right.

    Columns whose places are in ``extra`` are left out on a phone and on paper. A note stands below the caption.
    """

    def cell(name: str, place: int, content: str) -> Markup:
        style = "number" if place >= words else "long" if len(content) > LONG_TEXT else None
        if place in extra:
            style = f"{style} extra" if style else "extra"
        return tag(name, content, class_=style, scope={"th": "col"}.get(name))

    head = tag("tr", *(cell("th", place, content) for place, content in enumerate(header)))
    body = [tag("tr", *(cell("td", place, content) for place, content in enumerate(row))) for row in rows]
    content = tag(
        "table", tag("caption", caption, tag("small", note) if note else None), tag("thead", head), tag("tbody", *body)
    )
    return tag("div", content, class_="scroll", tabindex=0, role="region", aria_label=caption)


def fold(title: str, *children: str | None) -> Markup:
    """What opens on a click; on paper, it is left out while it is closed."""
    return tag("details", tag("summary", title), *children)


def count(number: Number) -> str:
    """A whole number.

    Example:
        >>> count(12345)
        '12,345'
    """
    return f"{number:,.0f}"


def percent(share: Number, digits: int = 0) -> str:
    """A share; a dash where there is none.

    Example:
        >>> percent(0.123), percent(float("nan"))
        ('12 %', '–')
    """
    return "–" if math.isnan(share) else f"{100 * share:.{digits}f} %"


def decimal(number: Number, digits: int = 2) -> str:
    """A number with so many digits after the point; a dash where there is none, and never a negative nought.

    Example:
        >>> decimal(1.005), decimal(-0.001), decimal(float("nan"))
        ('1.00', '0.00', '–')
    """
    return "–" if math.isnan(number) else f"{round(number, digits) + 0.0:,.{digits}f}"


def signed(number: Number) -> str:
    """A difference with its sign.

    Example:
        >>> signed(1.25), signed(-3.0), signed(0.0)
        ('+1.2', '−3.0', '0.0')
    """
    text = decimal(number, 1)
    return text.replace("-", "−") if text.startswith("-") or text in ("0.0", "–") else f"+{text}"


def span(low: Number, high: Number) -> str:
    """An interval of shares.

    Example:
        >>> span(0.1, 0.25)
        '10–25 %'
    """
    return "–" if math.isnan(low) else f"{100 * low:.0f}–{100 * high:.0f} %"
