"""What a call list was made from, as hashes: so that anyone can check later that nothing was changed."""

import dataclasses
import hashlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from armwise.errors import InvalidInputError
from armwise.planning.call_list import Plan
from armwise.planning.programme import ProgrammeSettings

FORMAT, VERSION = "armwise-plan", 1
FOLDER = "manifests"
# What can change a digit of a plan, beside armwise itself.
LIBRARIES = ("jax", "numpy", "polars")


class Input(NamedTuple):
    """A file by its name and the SHA-256 of its content."""

    file: str
    sha256: str


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
    """

    inputs: dict[str, Input]
    versions: dict[str, str]
    seed: int
    planned_step: str
    calls: str
    summary: dict[str, Any]

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


def read_inputs(programme: ProgrammeSettings, model: Path) -> dict[str, Input]:
    """The hashes of everything that decides a plan."""
    tables = {
        "beneficiaries": programme.beneficiaries.source.path,
        "engagement": programme.engagement.source.path,
        "interventions": programme.interventions.source.path,
    }
    files = {"settings": programme.path, **tables, "model": model}
    # A table that is not there is the check's to complain about, with everything else that is wrong.
    return {name: Input(path.name, _hash_file(path)) for name, path in files.items() if path.is_file()}


def make_manifest(inputs: dict[str, Input], plan: Plan, content: bytes, seed: int, planned_step: str) -> Manifest:
    """The manifest of a plan whose list has this content."""
    versions = {name: version(name) for name in ("armwise", *LIBRARIES)}
    summary = dataclasses.asdict(plan.summary)
    return Manifest(inputs, versions, seed, planned_step, hashlib.sha256(content).hexdigest(), summary)


def find_manifest(output: Path, content: bytes) -> Path:
    """Where the manifest of a list is: beside it, named by what is in the list."""
    return output.parent / FOLDER / f"{hashlib.sha256(content).hexdigest()[:16]}.json"


def compare(output: Path, content: bytes, again: bytes, now: Manifest) -> Verification:
    """What the manifest of a written list says, against the files as they are and the list as it would be now."""
    path = find_manifest(output, content)
    if not path.is_file():
        note = "no manifest knows it: it was changed, or armwise did not write it"
        return Verification((Check(output.name, False, note),))
    then, page = _read(path), json.loads(now.to_json())
    if then.get("calls") != hashlib.sha256(content).hexdigest():
        return Verification((Check(output.name, False, f"{path.name} is the manifest of another list"),))
    checks = [Check(output.name, True, "as armwise wrote it")]
    checks += [_check_input(name, then["inputs"].get(name), each) for name, each in page["inputs"].items()]
    for name, number in page["versions"].items():
        before = then["versions"].get(name)
        checks.append(Check(name, before == number, f"{number} now" + ("" if before == number else f", {before} then")))
    same = content == again
    checks.append(Check("planned again", same, "the same list" if same else "another list"))
    return Verification(tuple(checks))


def _check_input(name: str, then: dict[str, str] | None, now: dict[str, str]) -> Check:
    holds = then is not None and then["sha256"] == now["sha256"]
    return Check(f"{name} ({now['file']})", holds, "unchanged" if holds else "not the file that was planned from")


def _read(path: Path) -> dict[str, Any]:
    try:
        page = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"{path} cannot be read: {error}. Plan again.") from error
    if not isinstance(page, dict) or (page.get("format"), page.get("version")) != (FORMAT, VERSION):
        raise InvalidInputError(f"{path} is not a manifest of version {VERSION}. Use the armwise that wrote it.")
    if not all(isinstance(page.get(name), dict) for name in ("inputs", "versions")):
        raise InvalidInputError(f"{path} is damaged: entries are missing. Plan again.")
    return page


def _hash_file(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}.") from error
