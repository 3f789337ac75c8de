"""An evaluation to keep: ways to choose whom to call, losses to learn by, and predictions against what happened."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from armwise.data import transition_counts
from armwise.errors import InvalidInputError
from armwise.losses import DecDFL, Loss, MeanSquaredError
from armwise.mixtures import EntropyMixture
from armwise.planning.calibration import Bin, compare_with_observed
from armwise.planning.check import load_programme
from armwise.planning.inputs import Input
from armwise.planning.intervals import Share
from armwise.planning.judging import Evaluation, PolicyQuality
from armwise.planning.programme import PathLike
from armwise.planning.weekly import hold_back, make_planner
from armwise.reading import read_file
from armwise.training import TrainConfig
from armwise.training.recipe import TEMPERATURE

FORMAT, VERSION = "armwise-evaluation", 2
ASSESSMENT_FILE = "evaluation.json"
RECOMMENDED = "recommended recipe"


def losses_to_compare() -> dict[str, Loss | None]:
    """What a model can learn by: accuracy alone, decisions alone, and the recommended recipe, which is no one loss."""
    return {
        "accuracy (MSE)": MeanSquaredError(),
        "decisions (Fast DEC-DFL)": DecDFL(EntropyMixture(TEMPERATURE)),
        RECOMMENDED: None,
    }


class LossQuality(NamedTuple):
    """How good the calls are that a model learned by one loss leads to; as in ``PolicyQuality``."""

    loss: str
    quality: float
    standard_error: float
    gain: float


@dataclass(frozen=True)
class Assessment:
    """What ``armwise evaluate --for-report`` keeps; numbers about everyone together, nothing of anybody.

    Attributes:
        inputs: the settings and tables it was made from, by what they are.
        num_people: held back and judged on.
        evaluation: ways to choose whom to call.
        losses: what to learn by, each judged on the same people.
        left_alone: predictions against what happened to those left alone.
        called: and to those called.
    """

    inputs: Mapping[str, Input]
    num_people: int
    evaluation: Evaluation
    losses: tuple[LossQuality, ...]
    left_alone: tuple[Bin, ...]
    called: tuple[Bin, ...]

    def to_json(self) -> str:
        """As a page of JSON; the same files give the same bytes."""
        page = {
            "format": FORMAT,
            "version": VERSION,
            "inputs": {name: each._asdict() for name, each in self.inputs.items()},
            "num_people": self.num_people,
            "evaluation": {
                **self.evaluation._asdict(),
                "policies": [each._asdict() for each in self.evaluation.policies],
            },
            "losses": [each._asdict() for each in self.losses],
            "left_alone": [_bin_as_dict(each) for each in self.left_alone],
            "called": [_bin_as_dict(each) for each in self.called],
        }
        return json.dumps(_without_nan(page), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def table_of_losses(self) -> str:
        """The losses for a terminal."""
        lines = [f"{'learned by':28}  quality         gain per 100 people"]
        lines += [
            f"{each.loss:28} {each.quality:6.3f} ± {each.standard_error:.3f}  {each.gain:19.2f}" for each in self.losses
        ]
        return "\n".join(lines)


def assess_programme(
    path: PathLike,
    *,
    seed: int = 0,
    kind: str = "linear",
    num_trajectories: int = 1000,
    despite_outage: bool = False,
    progress: bool | None = False,
    config: TrainConfig | None = None,
    losses: Mapping[str, Loss | None] | None = None,
    started: Callable[[str], None] | None = None,
) -> Assessment:
    """Learn from four fifths of the people by each loss, and judge each on the others, as ``evaluate_programme`` does.

    Args:
        path: of ``programme.toml``.
        seed: decides who is held back.
        kind: of model.
        num_trajectories: simulated runs of each cohort.
        despite_outage: whether to go on if the last step was hardly observed.
        progress: whether to show a bar on stderr; None shows it on a terminal.
        config: how to train; by default as recommended.
        losses: by default those of ``losses_to_compare``; the last one is also judged beside other ways to choose.
        started: called with the name of each loss before it is learned by.
    """
    data = load_programme(path, despite_outage=despite_outage)
    rest, test = hold_back(data, seed)
    counts = np.asarray(transition_counts(test.trajectories))
    results = []
    for name, loss in (losses_to_compare() if losses is None else losses).items():
        if started is not None:
            started(name)
        planner = make_planner(data, seed, kind)
        planner.set_params(loss=loss, config=config)
        evaluation = planner.fit(*rest, progress=progress).evaluate(*test, num_trajectories=num_trajectories)
        own = evaluation.policies[0]
        results.append(LossQuality(name, own.quality, own.standard_error, own.gain))
    bins = compare_with_observed(planner.predict_transitions(test.table), counts)
    return Assessment(data.inputs, len(test.table), evaluation, tuple(results), *bins)


def read_assessment(path: Path) -> Assessment | None:
    """What ``Assessment.to_json`` wrote; none if there is no such file."""
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
    policies = tuple(PolicyQuality(**_with_nan(each)) for each in page["evaluation"]["policies"])
    return Assessment(
        inputs={name: Input(**each) for name, each in page["inputs"].items()},
        num_people=int(page["num_people"]),
        evaluation=Evaluation(**{**page["evaluation"], "policies": policies}),
        losses=tuple(LossQuality(**_with_nan(each)) for each in page["losses"]),
        left_alone=tuple(_bin_from_dict(each) for each in page["left_alone"]),
        called=tuple(_bin_from_dict(each) for each in page["called"]),
    )


def _bin_as_dict(each: Bin) -> dict[str, Any]:
    return {"predicted": each.predicted, "observed": each.observed._asdict(), "number": each.number}


def _bin_from_dict(page: dict[str, Any]) -> Bin:
    return Bin(float(page["predicted"]), Share(**page["observed"]), int(page["number"]))


def _without_nan(value: Any) -> Any:
    """NaN, which JSON does not know, as null."""
    if isinstance(value, dict):
        return {name: _without_nan(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_without_nan(each) for each in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _with_nan(page: dict[str, Any]) -> dict[str, Any]:
    return {name: math.nan if value is None else value for name, value in page.items()}
