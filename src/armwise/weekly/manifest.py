"""What a call list was made from, as hashes: so that anyone can check later that nothing was changed."""

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
        page = {"format": MANIFEST_FORMAT, "version": VERSION, **dataclasses.asdict(self)}
        page["inputs"] = {name: each._asdict() for name, each in self.inputs.items()}
        return json.dumps(page, indent=2, ensure_ascii=False) + "\n"


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
    return output.parent / MANIFESTS / f"{hashlib.sha256(content).hexdigest()[:16]}.json"


def find_probabilities(output: Path, content: bytes) -> Path:
    """Where the probabilities of a list are: beside it, under the list's own hash, for as long as anyone may ask."""
    return output.parent / PROBABILITIES_FOLDER / f"{hashlib.sha256(content).hexdigest()[:16]}.csv"
