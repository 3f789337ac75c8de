"""Escape text for a page or a drawing: once, and with its invisible characters made visible."""

import html
import unicodedata

from markupsafe import Markup


def tag(name: str, /, *children: str | None, **attributes: object) -> Markup:
    """An element of a drawing. Attributes are escaped, and so are children that are not ``Markup``.

    Children and attributes that are None are left out.

    Example:
        >>> print(tag("text", "1 < 2", class_="tick"))
        <text class="tick">1 &lt; 2</text>
        >>> print(tag("svg", tag("title", "<script>"), None))
        <svg><title>&lt;script&gt;</title></svg>
    """
    pairs = ((key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items() if value is not None)
    opening = "".join(f' {key}="{escape(str(value))}"' for key, value in pairs)
    return Markup(f"<{name}{opening}>{join(*children)}</{name}>")


def join(*parts: str | None) -> Markup:
    """Join several parts into one."""
    return Markup("".join(escape(part) for part in parts if part is not None))


def escape(text: str) -> Markup:
    """Escape text for HTML. Characters that are invisible or control a terminal become a visible mark."""
    if isinstance(text, Markup):
        return text
    visible = "".join(
        "\N{REPLACEMENT CHARACTER}" if unicodedata.category(letter) in ("Cc", "Cf", "Cs") else letter for letter in text
    )
    return Markup(html.escape(visible, quote=True))
