"""``armwise plan --verify``: check that a list is unchanged, and that armwise would write the same list again."""

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from armwise.errors import InvalidInputError
from armwise.io.reading import PathLike, read_file
from armwise.programme.findings import shorten
from armwise.weekly.manifest import Manifest, find_manifest, find_probabilities
from armwise.weekly.plan import plan_programme

# A manifest's entries by their path of keys, such as ("summary", "excluded", "called recently").
Entries = dict[tuple[str, ...], Any]


class Check(NamedTuple):
    """One thing that was verified: what it is, whether it holds, and a note for the reader."""

    what: str
    holds: bool
    note: str


class Verification(NamedTuple):
    """Everything that was verified about a list."""

    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Whether every check holds."""
        return all(check.holds for check in self.checks)

    def __str__(self) -> str:
        return "\n".join(
            f"{'ok     ' if check.holds else 'CHANGED'} {check.what}: {check.note}" for check in self.checks
        )


def verify_plan(
    path: PathLike, output: PathLike, model: PathLike | None = None, *, despite_outage: bool = False
) -> Verification:
    """Check that a list is as armwise wrote it, that its input files are unchanged, and that a new plan gives it again.

    Args:
        path: the path of ``programme.toml``.
        output: the list.
        model: as in ``plan_programme``.
        despite_outage: as in ``plan_programme``.
    """
    target = Path(output)
    try:
        content = read_file(target)
    except FileNotFoundError:
        raise InvalidInputError(f"{target} does not exist. Make a plan first: armwise plan {path}") from None
    except OSError as error:
        raise InvalidInputError(f"{target} cannot be read: {error.strerror}. Check the path and its rights.") from error
    again = plan_programme(path, model, suffix=target.suffix.lower(), despite_outage=despite_outage)
    return compare(target, content, again.content, again.manifest)


def compare(output: Path, content: bytes, again: bytes, now: Manifest) -> Verification:
    """Compare the manifest of a written list with the files and the list as they would be now.

    The manifest is made again and compared byte by byte; the other checks say in words what differs.
    """
    path = find_manifest(output, content)
    found = _read(path)
    if found is None:
        note = "no manifest knows it: it was changed, or armwise did not write it"
        return Verification((Check(output.name, False, note),))
    then, expected = _entries(found), now.to_json().encode()
    if then is None:
        return Verification((Check(path.name, False, "it was changed: it is not JSON any more"),))
    if then.get(("calls",)) != hashlib.sha256(content).hexdigest():
        return Verification((Check(output.name, False, f"{path.name} is the manifest of another list"),))
    checks = [Check(output.name, True, "as armwise wrote it"), *_compare_entries(then, _entries(expected) or {})]
    checks += _compare_probabilities(find_probabilities(output, content), now)
    same = content == again
    checks.append(Check("planned again", same, "the same list" if same else "another list"))
    whole = found == expected
    checks.append(Check(path.name, whole, "made again, the same" if whole else "not the same when it is made again"))
    return Verification(tuple(checks))


def _compare_probabilities(path: Path, now: Manifest) -> list[Check]:
    """Check that the table of probabilities is unchanged. A missing table is no error: it can be made again."""
    found = _read(path)
    if found is None:
        return []
    holds = hashlib.sha256(found).hexdigest() == now.choice.get("probabilities")
    return [Check(f"{path.parent.name}/{path.name}", holds, "unchanged" if holds else "not as planned again")]


def _compare_entries(then: Entries, now: Entries) -> list[Check]:
    """One check for each file and version; for other entries, one for each that differs."""
    checks = []
    for place, value in now.items():
        before = then.get(place)
        holds = place in then and before == value
        if place[0] == "inputs" and place[-1] == "sha256":
            note = "unchanged" if holds else "not the file that was planned from"
            checks.append(Check(f"{place[1]} ({now[(*place[:-1], 'file')]})", holds, note))
        elif place[0] == "versions":
            checks.append(Check(place[-1], holds, f"{value} now" + ("" if holds else f", {_say(then, place)} then")))
        elif place != ("calls",) and not holds:
            checks.append(Check(": ".join(place), False, f"{_say(now, place)} now, {_say(then, place)} then"))
    odd = [place for place in then if place not in now]
    return checks + [Check(": ".join(place), False, f"nothing now, {_say(then, place)} then") for place in odd]


def _say(entries: Entries, place: tuple[str, ...]) -> str:
    return shorten(repr(entries[place])) if place in entries else "nothing"


def _read(path: Path) -> bytes | None:
    """The bytes of a file; none if there is no such file."""
    try:
        return read_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}. Check its rights.") from error


def _entries(content: bytes) -> Entries | None:
    """The entries of a JSON document; none if it is not valid JSON."""
    try:
        return _flat(json.loads(content.decode()))
    except (ValueError, RecursionError):
        return None


def _flat(value: Any) -> Entries:
    if not isinstance(value, dict) or not value:
        return {(): value}
    return {(name, *place): leaf for name, each in value.items() for place, leaf in _flat(each).items()}
