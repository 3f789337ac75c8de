"""The record of what a call list was made from, as hashes. With it, anyone can check later that nothing was changed."""

import dataclasses
import hashlib
import json
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from armwise.planner.plan import Plan
from armwise.programme.inputs import Input
from armwise.programme.last_list import MANIFEST_FORMAT, MANIFESTS

VERSION = 1
PROBABILITIES_FOLDER = "probabilities"
# The libraries, other than armwise, whose version can change a digit of a plan.
LIBRARIES = ("jax", "numpy", "polars", "xlsxwriter")


@dataclasses.dataclass(frozen=True)
class Manifest:
    """The record of a plan. It contains no ids and no person's data.

    Attributes:
        inputs: the settings, the three tables and the model, by role.
        versions: the versions of armwise and of the libraries that it uses.
        seed: the planner's seed; it decides the lots.
        planned_step: the planned step, in words.
        calls: the SHA-256 of the list.
        summary: the plan in numbers.
        choice: how people were chosen: the rule, what a lottery may cost, the number of posterior draws, and the number
            of people with a probability; how many people on the list have each call probability, and each chance of
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
        """The manifest as a JSON document. The same plan gives the same bytes."""
        page = {"format": MANIFEST_FORMAT, "version": VERSION, **dataclasses.asdict(self)}
        page["inputs"] = {name: each._asdict() for name, each in self.inputs.items()}
        return json.dumps(page, indent=2, ensure_ascii=False) + "\n"


def make_manifest(inputs: dict[str, Input], plan: Plan, content: bytes, seed: int, planned_step: str) -> Manifest:
    """Make the manifest of a plan. ``content`` is the bytes of its list."""
    versions = {name: version(name) for name in ("armwise", *LIBRARIES)}
    summary = dataclasses.asdict(plan.summary)
    list_hash = hashlib.sha256(content).hexdigest()
    return Manifest(inputs, versions, seed, planned_step, list_hash, summary, _describe_choice(plan))


def _describe_choice(plan: Plan) -> dict[str, Any]:
    """How people were chosen, without ids."""
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
    """How often each value occurs, with the largest value first."""
    return {str(value): number for value, number in sorted(Counter(values.to_list()).items(), reverse=True)}


def find_manifest(output: Path, content: bytes) -> Path:
    """The path of a list's manifest: in a folder next to the list, with the list's hash as name."""
    return output.parent / MANIFESTS / f"{hashlib.sha256(content).hexdigest()[:16]}.json"


def find_probabilities(output: Path, content: bytes) -> Path:
    """The path of a list's probabilities: in a folder next to the list, with the list's hash as name."""
    return output.parent / PROBABILITIES_FOLDER / f"{hashlib.sha256(content).hexdigest()[:16]}.csv"
