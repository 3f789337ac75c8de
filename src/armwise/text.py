"""Text for people: what comes from files cannot steer a terminal, and numbers agree with their nouns."""

import json
import re

# Control characters (ESC among them), marks that turn the direction of writing, characters of no width, line ends that
# only some programs see, halves of surrogate pairs. Left as they are: line ends, tabs, and the two joiners (U+200C and
# U+200D) that Hindi, Marathi, Persian and others are written with.
HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)


def visible(text: str) -> str:
    r"""The text with every hidden character as an escape that can be seen.

    Example:
        >>> visible("north\x1b[2J")
        'north\\x1b[2J'
    """
    return HIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def visible_json(page: str) -> str:
    """JSON that means the same and has no hidden character: they can only be inside strings, where escapes stand."""
    return HIDDEN.sub(lambda found: json.dumps(found[0])[1:-1], page)


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    Example:
        >>> counted(1, "call"), counted(1200, "call")
        ('1 call', '1,200 calls')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"
