"""What is compared, and how: the losses and models by name, and the protocol of the paper's "Hyperparameter Tuning"."""

import dataclasses
from collections.abc import Callable
from typing import Any

from armwise.data import Domain
from armwise.errors import InvalidInputError
from armwise.losses import (
    Annealed,
    DecDFL,
    Loss,
    MeanSquaredError,
    NegativeLogLikelihood,
    PriceDFL,
    SimDFL,
    WarmStart,
)
from armwise.mixtures import CvxpyMixture, EntropyMixture, QuadraticMixture
from armwise.models import Linear, MultiLayerPerceptron
from armwise.training import TrainConfig


@dataclasses.dataclass(frozen=True)
class LossFamily:
    """A row of Table 1: a loss, one for each temperature where it has one to tune."""

    label: str
    make: Callable[[float], Loss]
    tunes_temperature: bool = False
    trajectories: int = 0  # simulated in each gradient step
    compiled: bool = True  # cvxpylayers does not work inside jit
    weight_decay: float | None = None  # of Adam, instead of the protocol's
    calibrated: bool = False  # whether predicted indices are mapped onto the true ones of the training cohorts


def _reference(regulariser: str) -> Callable[[float], Loss]:
    """With Clarabel: after SCS, most of diffcp's gradients through the entropy were NaN on ``ctn0094``."""
    return lambda temperature: DecDFL(CvxpyMixture(regulariser, temperature, solver="Clarabel", tolerance=1e-9))


def _entropy(temperature: float) -> Loss:
    return DecDFL(EntropyMixture(temperature))


def _beside(make: Callable[[float], Loss], weight: float) -> Callable[[float], Loss]:
    return lambda temperature: make(temperature) + weight * MeanSquaredError()


def _after(first: Loss, make: Callable[[float], Loss], rate: float) -> Callable[[float], Loss]:
    return lambda temperature: WarmStart(first, make(temperature), rate=rate)


def _cooling(make: Callable[[float], Loss]) -> Callable[[float], Loss]:
    return lambda temperature: Annealed(make(10 * temperature), make(temperature))


def _three_budgets(temperature: float) -> Loss:
    low, same, high = (DecDFL(EntropyMixture(temperature), budget_multiple=multiple) for multiple in (0.5, 1.0, 2.0))
    return (low + same + high) * (1 / 3)


# In the order of the paper's tables.
LOSSES: dict[str, LossFamily] = {
    "nll": LossFamily("NLL", lambda _: NegativeLogLikelihood()),
    "mse": LossFamily("MSE", lambda _: MeanSquaredError()),
    "sim-1": LossFamily("SIM-DFL (1 trajectory)", lambda _: SimDFL(1), trajectories=1),
    "sim-10": LossFamily("SIM-DFL (10 trajectories)", lambda _: SimDFL(10), trajectories=10),
    "sim-100": LossFamily("SIM-DFL (100 trajectories)", lambda _: SimDFL(100), trajectories=100),
    "sim-1000": LossFamily("SIM-DFL (1,000 trajectories)", lambda _: SimDFL(1000), trajectories=1000),
    "dec-l2-cvxpy": LossFamily("DEC-DFL (L2, cvxpylayers)", _reference("l2"), True, compiled=False),
    "dec-entropy-cvxpy": LossFamily("DEC-DFL (entropy, cvxpylayers)", _reference("entropy"), True, compiled=False),
    "fast-entropy": LossFamily("Fast DEC-DFL (entropy)", _entropy, True),
    "fast-l2": LossFamily("Fast DEC-DFL (L2)", lambda t: DecDFL(QuadraticMixture(t)), True),
    "price": LossFamily("PriceDFL (not in the paper)", PriceDFL, True),
}

_BASES: dict[str, LossFamily] = {
    "mse": LossFamily("MSE", LOSSES["mse"].make),
    "dec": LossFamily("DEC-DFL", _entropy, True),
    "price": LossFamily("PriceDFL", PriceDFL, True),
}
_DECISIONS = {name: _BASES[name] for name in ("dec", "price")}

# What the study of recipes adds: each tunes its temperature; the number is the weight of the squared error beside it.
RECIPES: dict[str, LossFamily] = {
    "price-1": LossFamily("PriceDFL, one price", lambda t: PriceDFL(t, budget_multiples=(1.0,)), True),
    "price-wide": LossFamily("PriceDFL, five prices", lambda t: PriceDFL(t, (0.25, 0.5, 1.0, 2.0, 4.0)), True),
    **{
        f"price+{weight:g}mse": LossFamily(f"PriceDFL + {weight:g} MSE", _beside(PriceDFL, weight), True)
        for weight in (1.0, 3.0, 10.0, 30.0)
    },
    **{
        f"dec+{weight:g}mse": LossFamily(f"DEC-DFL + {weight:g} MSE", _beside(_entropy, weight), True)
        for weight in (1.0, 3.0, 10.0, 30.0)
    },
    "dec-threshold": LossFamily(
        "DEC-DFL, threshold policies", lambda t: DecDFL(EntropyMixture(t), policies="threshold"), True
    ),
    "price-threshold": LossFamily("PriceDFL, threshold policies", lambda t: PriceDFL(t, policies="threshold"), True),
    "dec-budgets": LossFamily("DEC-DFL, budgets B/2, B and 2B", _three_budgets, True),
    **{
        f"{early}-then-{name}{suffix}": LossFamily(
            f"{early.upper()}, then {base.label}{words}", _after(LOSSES[early].make(0.0), base.make, rate), True
        )
        for early in ("mse", "nll")
        for name, base in _DECISIONS.items()
        for suffix, words, rate in (("", "", 1.0), ("-slow", " at a tenth of the rate", 0.1))
    },
    **{
        f"{name}-annealed": LossFamily(f"{base.label}, temperature from 10 × to 1 ×", _cooling(base.make), True)
        for name, base in _DECISIONS.items()
    },
    "dec-spread": LossFamily(
        "DEC-DFL, temperature in spreads of returns", lambda t: DecDFL(EntropyMixture(t), unit="spread"), True
    ),
    "price-spread": LossFamily(
        "PriceDFL, temperature in spreads of returns", lambda t: PriceDFL(t, unit="spread"), True
    ),
    **{
        f"{name}-decay{decay:g}": dataclasses.replace(
            base, label=f"{base.label}, weight decay {decay:g}", weight_decay=decay
        )
        for name, base in _BASES.items()
        for decay in (0.1, 1.0)
    },
    **{
        f"{name}-calibrated": dataclasses.replace(base, label=f"{base.label}, calibrated indices", calibrated=True)
        for name, base in (
            _BASES | {"price+3mse": LossFamily("PriceDFL + 3 MSE", _beside(PriceDFL, 3.0), True)}
        ).items()
    },
}

# Table 2's sizes: hidden width and number of hidden layers; none for the linear model.
MODELS: dict[str, tuple[int, int] | None] = {"linear": None, "2x64": (64, 2), "4x500": (500, 4)}


@dataclasses.dataclass(frozen=True)
class Protocol:
    """How much is run. The defaults are the paper's where it says, and the choices of ``docs/design.md`` elsewhere.

    Attributes:
        num_splits: random divisions into train, validation and test cohorts.
        num_initialisations: first weights per split.
        learning_rates: of Adam, chosen by validation loss.
        temperatures: of the regulariser (the paper's α), chosen likewise for the losses that have one.
        num_epochs: passes over the training cohorts; the best by validation loss is kept.
        num_trajectories: simulated runs of each test cohort behind the joint quality.
        horizon: steps of each; None until the discount makes the rest negligible.
        quality: the decision quality measured on the validation cohorts after each epoch ("joint" for Figure 2b).
        quality_trajectories: simulated runs behind it, if joint.
        keep_indices: whether to keep predicted and true Whittle indices of one run (Figure 3).
        evaluate: "all" runs on the test cohorts, or only those that a "selected" hyperparameter can lead to.
        seed: of weights, orders and luck.
        select_by: what the best epoch is best by on the validation cohorts, the "loss" or the "quality".
        weight_decay: of Adam.
        validate_every: epochs between two looks at the validation cohorts.
    """

    num_splits: int = 10
    num_initialisations: int = 5
    learning_rates: tuple[float, ...] = (1e-2, 1e-3, 1e-4, 1e-5)
    temperatures: tuple[float, ...] = (1.0, 0.1)
    num_epochs: int = 100
    num_trajectories: int = 1000
    horizon: int | None = None
    quality: str | None = None
    quality_trajectories: int = 100
    keep_indices: bool = False
    evaluate: str = "all"
    seed: int = 0
    select_by: str = "loss"
    weight_decay: float = 0.0
    validate_every: int = 1

    def __post_init__(self) -> None:
        if self.evaluate not in ("all", "selected"):
            raise InvalidInputError(f"evaluate must be 'all' or 'selected', not {self.evaluate!r}.")

    def losses(self, family: LossFamily) -> tuple[list[Loss], list[float | None]]:
        """The losses to train, and their temperatures."""
        if not family.tunes_temperature:
            return [family.make(0.0)], [None]
        return [family.make(temperature) for temperature in self.temperatures], list(self.temperatures)

    def config(self, family: LossFamily | None = None) -> TrainConfig:
        """The settings of each training run, of a loss that may have some of its own."""
        own_decay = None if family is None else family.weight_decay
        return TrainConfig(
            num_epochs=self.num_epochs,
            quality=self.quality,
            quality_trajectories=self.quality_trajectories,
            select_by=self.select_by,
            weight_decay=self.weight_decay if own_decay is None else own_decay,
            validate_every=self.validate_every,
        )


PAPER_PROTOCOL = Protocol()
QUICK_PROTOCOL = Protocol(2, 1, (1e-2, 1e-3), (1.0, 0.1), num_epochs=10, num_trajectories=100)


def model_maker(name: str, domain: Domain) -> Callable[[Any], Any]:
    """A function from a key to a model of the size, for the domain's features and states."""
    if name not in MODELS:
        raise InvalidInputError(f"There is no model {name!r}; there are {', '.join(MODELS)}.")
    size, features, states = MODELS[name], domain.cohorts.features, domain.problem.num_states
    if size is None:
        return lambda key: Linear(key, features, states)
    return lambda key: MultiLayerPerceptron(key, features, states, width=size[0], depth=size[1])


def check_loss(name: str) -> LossFamily:
    """The loss family of a name, or a complaint that lists those there are."""
    families = LOSSES | RECIPES
    if name not in families:
        raise InvalidInputError(f"There is no loss {name!r}; there are {', '.join(families)}.")
    return families[name]
