"""Real histories for the study of next states, and which steps to learn from and which to judge."""

import dataclasses
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
from jaxtyping import Bool

from armwise.data import Features, Trajectories
from armwise.data.domains.heartsteps import CATEGORICAL, NUMERIC
from armwise.data.encoding import encode
from reproduction.studies.off_policy.heartsteps import as_pairs, read_log

# The package also has functions of these names.
_oulad = import_module("armwise.data.domains.oulad")
_ctn0094 = import_module("armwise.data.domains.ctn0094")

Mask = Bool[np.ndarray, "people steps"]


@dataclasses.dataclass(frozen=True)
class RealHistory:
    """People of one data set, what is known of them at intake, and their steps; two states."""

    name: str
    features: Features
    history: Trajectories


@dataclasses.dataclass(frozen=True)
class Split:
    """Which states ``[people, steps]`` to learn from, and which to predict.

    A state is predicted from all steps of the same person before it. A learner may also see, of the people it learns
    from, the steps before those it learns from, and nothing after them.
    """

    learned: Mask
    judged: Mask


@dataclasses.dataclass(frozen=True)
class Protocol:
    """How one data set is read and split.

    Attributes:
        folder: its name among the data sets.
        read: from the folder to the history.
        split: the masks of one division of the people; by seed.
        num_splits: how many divisions there are.
        in_words: a sentence for the page.
    """

    folder: str
    read: Callable[[Path], RealHistory]
    split: Callable[[RealHistory, int], Split]
    num_splits: int
    in_words: str


def read_oulad(folder: Path) -> RealHistory:
    """Students of the Open University, weeks 0 to 30; state 1 is any click. One enrolment of each student."""
    table = _oulad._read(folder).unique("id_student", keep="first", maintain_order=True)
    features = encode(table, _oulad.CATEGORICAL, _oulad.NUMERIC, 4)
    return RealHistory("OULAD", features, _oulad._trajectories(table, (0, 30), (0,)))


def read_ctn0094(trial: str) -> Callable[[Path], RealHistory]:
    """How to read one trial; state 1 is a sample given in the week, the action is the randomised arm."""

    def read(folder: Path) -> RealHistory:
        history, ids = _ctn0094._trajectories(folder / _ctn0094.STATES_FILE, trial, 1, "engaged")
        people = _ctn0094._intake(folder / _ctn0094.FEATURES_FILE, ids)
        features = encode(people, _ctn0094.CATEGORICAL, _ctn0094.NUMERIC, 4)
        return RealHistory(f"CTN-00{trial}", features, history)

    return read


def read_heartsteps(folder: Path) -> RealHistory:
    """Three steps for each decision: steps walked in the half hour before, in the half hour after, and a gap."""
    log = read_log(folder, 0)
    return RealHistory("HeartSteps", encode(log.people, CATEGORICAL, NUMERIC, 3), as_pairs(log))


def predictable(history: Trajectories) -> Mask:
    """States that were observed, and the one before as well."""
    observed = np.asarray(history.observed)
    return np.pad(observed[:, :-1] & observed[:, 1:], ((0, 0), (1, 0)))


def split_people(
    num_learned: float, num_judged: float, learned: tuple[int, int], judged: tuple[int, int]
) -> Callable[[RealHistory, int], Split]:
    """Learn from some people's early steps and judge by other people's later ones.

    Args:
        num_learned: how many people to learn from, or the share of them if below 1.
        num_judged: the same, of those to judge by.
        learned: first and last step to learn from, counted from 0.
        judged: first and last step to judge by.
    """

    def split(data: RealHistory, seed: int) -> Split:
        order = np.random.default_rng(seed).permutation(len(data.history))
        first, second = (
            int(number * len(order)) if number < 1 else int(number) for number in (num_learned, num_judged)
        )
        cases = predictable(data.history)
        return Split(
            cases & _block(cases.shape, order[:first], *learned),
            cases & _block(cases.shape, order[first : first + second], *judged),
        )

    return split


def _block(shape: tuple[int, ...], people: np.ndarray, first: int, last: int) -> Mask:
    mask = np.zeros(shape, bool)
    mask[people, first : last + 1] = True
    return mask


def split_time(data: RealHistory, _: int, share: float = 0.6) -> Split:
    """Learn from the first cases of each person and judge by her last ones."""
    cases = predictable(data.history)
    early = cases.cumsum(axis=1) <= share * cases.sum(axis=1, keepdims=True)
    return Split(cases & early, cases & ~early)


def history_to_learn_from(data: RealHistory, split: Split) -> tuple[Features, Trajectories]:
    """Of the people to learn from, all steps up to the last that is learned from."""
    people = np.flatnonzero(split.learned.any(axis=1))
    history = data.history[people]
    last = _last(split.learned[people])
    seen = np.asarray(history.observed) & (np.arange(history.num_steps) <= last[:, None])
    end = int(last.max()) + 1
    states, actions = (np.asarray(part)[:, :end] for part in (history.states, history.actions))
    return data.features[people], Trajectories.from_arrays(states, actions, seen[:, :end], history.num_states)


def _last(mask: Mask) -> np.ndarray:
    return mask.shape[1] - 1 - mask[:, ::-1].argmax(axis=1)


PROTOCOLS = (
    Protocol(
        "oulad",
        read_oulad,
        split_people(5000, 3000, (4, 15), (16, 30)),
        5,
        "students of the Open University, one enrolment of each; engaged is any click in the week. Learned from weeks "
        "4 to 15 of 5,000 people (weeks 0 to 3 serve as their past), judged by weeks 16 to 30 of 3,000 others. No "
        "calls were recorded.",
    ),
    Protocol(
        "ctn0094",
        read_ctn0094("27"),
        split_people(0.5, 0.5, (4, 11), (12, 19)),
        5,
        "trial of methadone (action 1) against buprenorphine; engaged is a sample given in the week. Learned from "
        "weeks 5 to 12 of half of the people (weeks 1 to 4 serve as their past), judged by weeks 13 to 20 of the "
        "other half. Later weeks are left out: from week 21 on, fewer and fewer people had a sample scheduled.",
    ),
    Protocol(
        "ctn0094",
        read_ctn0094("51"),
        split_people(0.5, 0.5, (4, 11), (12, 19)),
        5,
        "trial of buprenorphine (action 1) against naltrexone; as CTN-0027.",
    ),
    Protocol(
        "heartsteps",
        read_heartsteps,
        split_time,
        1,
        "steps in the half hour after a decision, given those in the half hour before and whether a suggestion was "
        "sent; engaged is any step. Learned from the first 60 % of each person's decisions, judged by her last 40 %: "
        "there are too few people to set some aside.",
    ),
)


def read_all(data: Path) -> Iterator[tuple[Protocol, RealHistory]]:
    """Every data set with its protocol."""
    for protocol in PROTOCOLS:
        yield protocol, protocol.read(data / protocol.folder)
