"""An evaluation as a file: what past calls did, how lists would have done, and predictions against what happened."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from armwise.errors import InvalidInputError
from armwise.evaluation.effects import CallEffect, CallEffects
from armwise.evaluation.prediction import PredictionQuality
from armwise.evaluation.resampling import Estimate
from armwise.io.reading import read_file
from armwise.planner.backtest import WayJudged
from armwise.programme.inputs import Input
from armwise.weekly.calibration import Bin
from armwise.weekly.shares import Share

FORMAT, VERSION = "armwise-evaluation", 3
ASSESSMENT_FILE = "evaluation.json"
# Rounding to 7 digits hides the rounding errors of different machines, and the error of the estimates is far larger.
DIGITS = 7


@dataclass(frozen=True)
class Assessment:
    """What ``armwise evaluate`` finds, as numbers about all people together. It contains no person's data.

    Attributes:
        inputs: the settings and tables it was made from, by role.
        num_people: people whose past weeks were used.
        effects: what past calls did.
        ways: the ways to choose people: armwise first, then armwise with other losses, then the rules of thumb.
        predictions: how well the next state was predicted for people left alone.
        left_alone: predictions against what happened to people left alone, for weeks and people not learned from.
        called: the same for people who were called.
        num_states: the number of states of engagement.
        origins: the steps up to which planners learned.
        num_judged: decisions on which lists were judged.
        num_calls: calls among these decisions.
        budget_share: calls per person and step.
        bound: the most that 100 calls of any rule could gain, if the estimated behaviour were right; none if there
            are too few past calls or too many states to compute it.
    """

    inputs: Mapping[str, Input]
    num_people: int
    effects: CallEffects
    ways: tuple[WayJudged, ...]
    predictions: tuple[PredictionQuality, ...]
    left_alone: tuple[Bin, ...]
    called: tuple[Bin, ...]
    num_states: int
    origins: tuple[int, ...]
    num_judged: int
    num_calls: int
    budget_share: float
    bound: float | None

    def to_json(self) -> str:
        """The evaluation as a JSON document. The same files give the same bytes."""
        page = {
            "format": FORMAT,
            "version": VERSION,
            "inputs": {name: each._asdict() for name, each in self.inputs.items()},
            "num_people": self.num_people,
            "effects": _effects_as_dict(self.effects),
            "ways": [_as_dict(each) for each in self.ways],
            "predictions": [_as_dict(each) for each in self.predictions],
            "left_alone": [_as_dict(each) for each in self.left_alone],
            "called": [_as_dict(each) for each in self.called],
            "num_states": self.num_states,
            "origins": list(self.origins),
            "num_judged": self.num_judged,
            "num_calls": self.num_calls,
            "budget_share": self.budget_share,
            "bound": self.bound,
        }
        return json.dumps(_plain(page), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def read_assessment(path: Path) -> Assessment | None:
    """Read what ``Assessment.to_json`` wrote; none if there is no such file."""
    try:
        content = read_file(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}. Check its rights, or remove it.") from error
    try:
        page = json.loads(content.decode())
        if (page["format"], page["version"]) != (FORMAT, VERSION):
            raise InvalidInputError(f"{path} is of another version. Evaluate again, or remove it.")
        return _from_page(page)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"{path} is damaged: {error!r}. Evaluate again, or remove it.") from error


def _from_page(page: dict[str, Any]) -> Assessment:
    return Assessment(
        inputs={name: Input(**each) for name, each in page["inputs"].items()},
        num_people=int(page["num_people"]),
        effects=_effects_from_dict(page["effects"]),
        ways=tuple(_way(each) for each in page["ways"]),
        predictions=tuple(_prediction(each) for each in page["predictions"]),
        left_alone=tuple(_bin(each) for each in page["left_alone"]),
        called=tuple(_bin(each) for each in page["called"]),
        num_states=int(page["num_states"]),
        origins=tuple(int(each) for each in page["origins"]),
        num_judged=int(page["num_judged"]),
        num_calls=int(page["num_calls"]),
        budget_share=float(page["budget_share"]),
        bound=None if page["bound"] is None else float(page["bound"]),
    )


def _as_dict(record: Any) -> dict[str, Any]:
    """A named tuple as a dictionary, with the named tuples inside it."""
    return {name: _as_dict(each) if hasattr(each, "_asdict") else each for name, each in record._asdict().items()}


def _way(page: dict[str, Any]) -> WayJudged:
    return WayJudged(str(page["name"]), _estimate(page["gain"]), _estimate(page["lead"]))


def _prediction(page: dict[str, Any]) -> PredictionQuality:
    return PredictionQuality(str(page["name"]), _estimate(page["log_loss"]), _estimate(page["lead"]))


def _bin(page: dict[str, Any]) -> Bin:
    return Bin(float(page["predicted"]), Share(*_estimate(page["observed"])), int(page["number"]))


def _estimate(page: dict[str, Any]) -> Estimate:
    """A number with its interval; null is read as NaN."""
    return Estimate(*(math.nan if page[name] is None else float(page[name]) for name in Estimate._fields))


def _effects_as_dict(effects: CallEffects) -> dict[str, Any]:
    return {
        "overall": _as_dict(effects.overall),
        "by_state": [_as_dict(each) for each in effects.by_state],
        "by_group": {name: [_as_dict(each) for each in groups] for name, groups in effects.by_group.items()},
        "comparable": effects.comparable,
        "level": effects.level,
    }


def _effects_from_dict(page: dict[str, Any]) -> CallEffects:
    return CallEffects(
        _effect(page["overall"]),
        tuple(_effect(each) for each in page["by_state"]),
        {name: tuple(_effect(each) for each in groups) for name, groups in page["by_group"].items()},
        float(page["comparable"]),
        float(page["level"]),
    )


def _effect(page: dict[str, Any]) -> CallEffect:
    return CallEffect(str(page["name"]), int(page["num_calls"]), _estimate(page["effect"]))


def _plain(value: Any) -> Any:
    """Round numbers to ``DIGITS`` digits, and write NaN as null because JSON has no NaN."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return None if math.isnan(value) else float(f"{value:.{DIGITS}g}")
    return value
