"""Read one section of programme.toml. Each value is checked when it is read; keys that nothing reads are refused."""

import contextlib
import difflib
import itertools
import math
import re
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

from armwise.programme.findings import Findings
from armwise.text import HIDDEN

INVISIBLE = "It contains invisible or control characters."


class Section:
    """The settings under one heading. For a wrong value, it notes a finding and returns the default, so checks go on.

    Args:
        name: the heading, without brackets; empty for the top of the file.
        values: what TOML has under the heading; a finding is noted if it is not a table.
        file: the name of the file, for the findings.
        text: the text of the whole file, to find the row of a key.
        findings: where wrong values are noted.
    """

    def __init__(self, name: str, values: Any, file: str, text: str, findings: Findings):
        self.name, self.file, self._text, self._findings = name, file, text, findings
        self._known: list[str] = []
        self.exists = values is not None
        if self.exists and not isinstance(values, dict):
            self.refuse(None, "config-wrong-value", f"This must be a section: a line [{name}] with settings below it.")
            values = None
        self._values: dict[str, Any] = values or {}

    def section(self, key: str) -> "Section":
        """A section below this one."""
        self._known.append(key)
        name = f"{self.name}.{key}" if self.name else key
        return Section(name, self._values.get(key), self.file, self._text, self._findings)

    def has(self, key: str) -> bool:
        """Whether the key is set."""
        return key in self._values

    def keys(self) -> list[str]:
        """All keys of the section, for a section in which the programme chooses the keys."""
        self._known += self._values
        for key in self._values:
            if HIDDEN.search(key):
                self.refuse(key, "config-wrong-value", INVISIBLE, "Type it again.")
        return list(self._values)

    def text(self, key: str, default: str | None = None) -> str | None:
        """Text that is not empty."""
        return self._get(key, default, lambda value: isinstance(value, str) and value.strip() != "", "text in quotes")

    def required_text(self, key: str, remedy: str) -> str | None:
        """Text that must be set; if it is missing, a finding is noted."""
        if key not in self._values:
            self._known.append(key)
            self.refuse(key, "config-missing-key", remedy=remedy)
            return None
        return self.text(key)

    def texts(self, key: str, default: tuple[str, ...] = (), *, empty: bool = False) -> tuple[str, ...]:
        """A list of different texts; with ``empty``, one of them may be empty."""

        def valid(value: Any) -> bool:
            words = isinstance(value, list) and all(isinstance(word, str) and (word.strip() or empty) for word in value)
            return words and len(set(value)) == len(value)

        return tuple(self._get(key, default, valid, 'a list of different texts, such as ["a", "b"]'))

    def whole(self, key: str, default: int | None, minimum: int, maximum: int = 2**31) -> int | None:
        """A whole number in a range."""
        return self._get(
            key,
            default,
            lambda value: type(value) is int and minimum <= value <= maximum,
            f"a whole number from {minimum} to {maximum}" if maximum < 2**31 else f"a whole number from {minimum} on",
        )

    def share(self, key: str, default: float, *, with_ends: bool = False) -> float:
        """A number between 0 and 1; 0 and 1 themselves are allowed only with ``with_ends``."""

        def valid(value: Any) -> bool:
            return _is_number(value) and (0 <= value <= 1 if with_ends else 0 < value < 1)

        words = "a number from 0 to 1" if with_ends else "a number above 0 and below 1"
        return float(self._get(key, default, valid, words))

    def rising(self, key: str, default: tuple[float, ...]) -> tuple[float, ...]:
        """A list of numbers of at least 0, each larger than the one before."""

        def valid(value: Any) -> bool:
            numbers = isinstance(value, list) and value != [] and all(_is_number(each) and each >= 0 for each in value)
            return numbers and all(low < high for low, high in itertools.pairwise(value))

        values = self._get(key, default, valid, "a list of numbers from 0 on, each larger than the one before")
        return tuple(float(each) for each in values)

    def choice(self, key: str, options: Sequence[str]) -> str:
        """One of a few words; the default is the first."""
        words = " or ".join(f'"{option}"' for option in options)
        return str(self._get(key, options[0], lambda value: isinstance(value, str) and value in options, words))

    def day(self, key: str) -> date | None:
        """A date, as TOML writes it (without quotes) or as text."""
        value = self._values.get(key)
        if isinstance(value, str) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", value):
            # 2024-02-30 stays text and is refused below, like anything else that is not a date.
            with contextlib.suppress(ValueError):
                self._values[key] = date.fromisoformat(value)
        return self._get(
            key,
            None,
            lambda value: isinstance(value, date) and not isinstance(value, datetime) and 1900 <= value.year <= 2200,
            "a date such as 2024-01-31",
        )

    def refuse(self, key: str | None, kind: str, what: str | None = None, remedy: str | None = None) -> None:
        """Note a finding about a key of this section, or about the section."""
        name = ".".join(part for part in (self.name, key) if part)
        value = self._values.get(key) if key and not isinstance(self._values.get(key), dict) else None
        self._findings.add(
            kind, self.file, row=self._row(key), column=name or None, value=value, what=what, remedy=remedy
        )

    def refuse_unknown(self) -> None:
        """Note every key that was never read, with the most similar valid key."""
        for key in self._values:
            if key not in self._known:
                near = difflib.get_close_matches(key, self._known, 1, 0.6)
                words = f"Did you mean {near[0]!r}?" if near else f"The settings here are {', '.join(self._known)}."
                self.refuse(key, "config-unknown-key", remedy=words)

    def _get(self, key: str, default: Any, valid: Any, kind: str) -> Any:
        self._known.append(key)
        if key not in self._values:
            return default
        if valid(self._values[key]):
            return self._without_hidden(key, default)
        self.refuse(key, "config-wrong-value", remedy=f"It must be {kind}.")
        return default

    def _without_hidden(self, key: str, default: Any) -> Any:
        """The value, or the default if the text has invisible characters, which a terminal may obey."""
        value = self._values[key]
        texts = value if isinstance(value, list) else [value]
        if any(isinstance(text, str) and HIDDEN.search(text) for text in texts):
            self.refuse(key, "config-wrong-value", INVISIBLE, "Type it again.")
            return default
        return value

    def _row(self, key: str | None) -> int | None:
        """The line on which the key is set. The TOML reader does not say it, so search under the heading."""
        inside, below = self.name == "", f"{self.name}.{key}" if self.name else key
        for row, line in enumerate(self._text.splitlines(), start=1):
            heading = re.match(r"\s*\[+\s*([^\]]*?)\s*\]", line)
            if heading:
                inside = heading[1] == self.name
                if (inside and key is None) or (key is not None and heading[1] == below):
                    return row
            elif inside and key and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[=.]", line):
                return row
        return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
