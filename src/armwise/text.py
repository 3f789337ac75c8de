"""Text for people: text from files cannot control a terminal, and nouns agree with their numbers."""

import json
import re

# Control characters (including ESC), marks that change the direction of writing, characters of no width, line ends that
# only some programs see, and halves of surrogate pairs. The pattern leaves out ordinary line ends, tabs, and the two
# joiners (U+200C and U+200D) that Hindi, Marathi, Persian and other languages need.
HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)


def visible(text: str) -> str:
    r"""The text with every hidden character written as a visible escape.

    Example:
        >>> visible("north\x1b[2J")
        'north\\x1b[2J'
    """
    return HIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def visible_json(page: str) -> str:
    """The same JSON without hidden characters; they occur only inside strings, where JSON allows escapes."""
    return HIDDEN.sub(lambda found: json.dumps(found[0])[1:-1], page)


def counted(number: int, noun: str) -> str:
    """A number with its noun, singular or plural.

    Example:
        >>> counted(1, "call"), counted(1200, "call")
        ('1 call', '1,200 calls')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"
