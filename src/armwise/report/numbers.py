"""Numbers as text, in the form in which people write them."""

import math

from armwise.weekly.shares import Number


def count(number: Number) -> str:
    """A whole number, with commas between thousands.

    Example:
        >>> count(12345)
        '12,345'
    """
    return f"{number:,.0f}"


def percent(share: Number, digits: int = 0) -> str:
    """A share in per cent; a dash if it is NaN.

    Example:
        >>> percent(0.123), percent(float("nan"))
        ('12 %', '–')
    """
    return "–" if math.isnan(share) else f"{100 * share:.{digits}f} %"


def decimal(number: Number, digits: int = 2) -> str:
    """A number with this many digits after the point; a dash if it is NaN. A negative zero is written without sign.

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
    """An interval of shares in per cent; a dash if it is NaN.

    Example:
        >>> span(0.1, 0.25)
        '10–25 %'
    """
    return "–" if math.isnan(low) else f"{100 * low:.0f}–{100 * high:.0f} %"
