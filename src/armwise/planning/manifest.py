"""What a call list was made from, as hashes: so that anyone can check later that nothing was changed."""

import dataclasses
import hashlib
import json
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from armwise.errors import InvalidInputError
from armwise.planning.call_list import Plan
from armwise.planning.findings import shorten
from armwise.planning.inputs import Input
from armwise.reading import read_file

FORMAT, VERSION = "armwise-plan", 1
FOLDER, PROBABILITIES_FOLDER = "manifests", "probabilities"
# What can change a digit of a plan, beside armwise itself.
LIBRARIES = ("jax", "numpy", "polars", "xlsxwriter")


@dataclasses.dataclass(frozen=True)
class Manifest:
    """The record of a plan; no ids, and nothing of anybody.

    Attributes:
        inputs: the settings, the three tables and the model, by what they are.
        versions: of armwise and of the libraries under it.
        seed: of the lots between equals.
        planned_step: in words.
        calls: the SHA-256 of the list.
        summary: the plan in numbers.
        choice: how people were chosen: the rule, what lots may cost, the number of posterior draws, how many people
            have a probability; of the people on the list, how many have each call probability and each chance of
            having been put on it; and the SHA-256 of the table of probabilities.
    """

    inputs: dict[str, Input]
    versions: dict[str, str]
    seed: int
    planned_step: str
    calls: str
    summary: dict[str, Any]
    choice: dict[str, Any] = dataclasses.field(default_factory=dict)

    def to_json(self) -> str:
        """The manifest as a page of JSON; the same plan gives the same bytes."""
        page = {"format": FORMAT, "version": VERSION, **dataclasses.asdict(self)}
        page["inputs"] = {name: each._asdict() for name, each in self.inputs.items()}
        return json.dumps(page, indent=2, ensure_ascii=False) + "\n"


class Check(NamedTuple):
    """One thing that was verified: what, whether it holds, and what to make of it."""

    what: str
    holds: bool
    note: str


class Verification(NamedTuple):
    """Everything that was verified about a list."""

    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Whether all of it holds."""
        return all(check.holds for check in self.checks)

    def __str__(self) -> str:
        return "\n".join(
            f"{'ok     ' if check.holds else 'CHANGED'} {check.what}: {check.note}" for check in self.checks
        )


def make_manifest(inputs: dict[str, Input], plan: Plan, content: bytes, seed: int, planned_step: str) -> Manifest:
    """The manifest of a plan whose list has this content."""
    versions = {name: version(name) for name in ("armwise", *LIBRARIES)}
    summary = dataclasses.asdict(plan.summary)
    list_hash = hashlib.sha256(content).hexdigest()
    return Manifest(inputs, versions, seed, planned_step, list_hash, summary, _describe_choice(plan))


def _describe_choice(plan: Plan) -> dict[str, Any]:
    """How people were chosen, without anybody's id."""
    listed = plan.call_probabilities.filter(pl.col("id").is_in(plan.calls["id"].implode()))
    return {
        "rule": plan.rules.choice,
        "lottery_cost": plan.rules.lottery_cost,
        "draws": plan.num_draws,
        "candidates": plan.call_probabilities.height,
        "call_probabilities": _count(listed["call_probability"]),
        "list_probabilities": _count(listed["list_probability"]),
        "probabilities": hashlib.sha256(plan.probabilities_to_bytes()).hexdigest(),
    }


def _count(values: pl.Series) -> dict[str, int]:
    """How often each value occurs, the largest first."""
    return {str(value): number for value, number in sorted(Counter(values.to_list()).items(), reverse=True)}


def find_manifest(output: Path, content: bytes) -> Path:
    """Where the manifest of a list is: beside it, named by what is in the list."""
    return output.parent / FOLDER / f"{hashlib.sha256(content).hexdigest()[:16]}.json"


def find_probabilities(output: Path, content: bytes) -> Path:
    """Where the probabilities of a list are: beside it, under the list's own hash, for as long as anyone may ask."""
    return output.parent / PROBABILITIES_FOLDER / f"{hashlib.sha256(content).hexdigest()[:16]}.csv"


def compare(output: Path, content: bytes, again: bytes, now: Manifest) -> Verification:
    """What the manifest of a written list says, against the files as they are and the list as it would be now.

    The manifest is made again and compared whole, to the byte; the other checks say in words what differs.
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
    """Whether the table of probabilities is unchanged; one that is gone can be made again."""
    found = _read(path)
    if found is None:
        return []
    holds = hashlib.sha256(found).hexdigest() == now.choice.get("probabilities")
    return [Check(f"{path.parent.name}/{path.name}", holds, "unchanged" if holds else "not as planned again")]


# A manifest's entries by their place, as in ("summary", "excluded", "called recently").
Entries = dict[tuple[str, ...], Any]


def _compare_entries(then: Entries, now: Entries) -> list[Check]:
    """Files and versions one by one; of everything else, what differs."""
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
    """The manifest's bytes; none if there is no such file."""
    try:
        return read_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}. Check its rights.") from error


def _entries(content: bytes) -> Entries | None:
    """The entries of a page of JSON; none if it is not one."""
    try:
        return _flat(json.loads(content.decode()))
    except (ValueError, RecursionError):
        return None


def _flat(value: Any) -> Entries:
    if not isinstance(value, dict) or not value:
        return {(): value}
    return {(name, *place): leaf for name, each in value.items() for place, leaf in _flat(each).items()}
