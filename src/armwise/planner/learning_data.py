"""People to learn from, with their history: tables from any library, checked, in the order of ids."""

import hashlib
import secrets
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import polars as pl
from jaxtyping import Int, UInt64

from armwise._validation import check_count
from armwise.data import Encoder, Trajectories
from armwise.data.encoding import choose_columns
from armwise.errors import InvalidInputError
from armwise.planner.frames import LABELS, as_frame, as_series, as_text_ids, check_distinct
from armwise.planner.people_history import PeopleHistory, read_history
from armwise.planner.roster import NO_IDS

# A frame without columns has no rows either, so people without features get this column.
NO_FEATURES = "armwise:no features"
_KEY = secrets.token_bytes(32)


class Examples(NamedTuple):
    """People to learn from, in the order of their ids. Without ids, the ids are row numbers, which name nobody.

    ``order`` is the row of the table that each person comes from.
    """

    ids: pl.Series
    frame: pl.DataFrame
    trajectories: Trajectories
    order: np.ndarray
    has_ids: bool = True


def read_examples(people: Any, history: Any, ids: Any, id_column: Any, num_states: Any = None) -> Examples:
    """People with their history, in the order of their ids, so that the order of rows cannot matter.

    Args:
        people: a table with one row per person; it may have only the column of ids.
        history: ``Trajectories`` in the order of the table's rows, or a long table with the columns id, step, state
            and action.
        ids: people's ids, as values or as the name of a column; by default the table's column ``id_column`` if it has
            one, else the row numbers.
        id_column: the name of the column of ids.
        num_states: how many states there are; by default as many as the history shows.
    """
    frame = as_frame("people", people, [_check_name(id_column)])
    if not frame.height:
        raise InvalidInputError("people has no rows. Check the file or the filter that it comes from.")
    names = _ids(frame, ids, id_column)
    number = frame.height
    frame = frame.drop(ids if isinstance(ids, str) else id_column, LABELS, strict=False)
    frame = frame if frame.width else pl.DataFrame({NO_FEATURES: np.zeros(number, np.uint8)})
    weeks = _weeks(history, names, id_column, num_states, number)
    # Row numbers get leading zeros, so that their order as text is the order of rows.
    known = pl.Series("id", np.arange(number)).cast(pl.String).str.zfill(10) if names is None else names
    check_distinct(known)
    order = known.arg_sort()
    # Use NumPy, because JAX would compile a program for every number of people and steps.
    ordered = jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf)[order.to_numpy()]), weeks)
    return Examples(known.gather(order), frame[order], ordered, order.to_numpy(), has_ids=names is not None)


def fit_encoder(frame: pl.DataFrame, categorical: Any, numeric: Any, num_bins: Any) -> Encoder:
    """The encoder of people's features. There may be no features."""
    words, numbers = feature_columns(frame, categorical, numeric)
    return Encoder.fit(frame, words, numbers, num_bins)


def feature_columns(frame: pl.DataFrame, categorical: Any, numeric: Any) -> tuple[list[str], list[str]]:
    """The columns to learn from as words and as numbers."""
    return choose_columns(frame.drop(NO_FEATURES, strict=False), categorical, numeric)


def data_hash_parts(examples: Examples, encoder: Encoder) -> tuple[Any, ...]:
    """The parts of the fingerprint of the data learned from: codes and history, without ids."""
    codes = np.asarray(encoder.transform(examples.frame).features.codes)
    return codes, examples.trajectories


def check_calls(counts: Int[np.ndarray, "people states 2 states"]) -> None:
    """Refuse a history in which nobody was called, or nobody was left alone, in a step whose outcome was observed."""
    if not counts[:, :, 1].any():
        raise InvalidInputError(
            "Nobody in the history was called in a step after which they were observed: action 1 was never seen, and "
            "nothing can be learned of what calls achieve. Add the calls that were made."
        )
    if not counts[:, :, 0].any():
        raise InvalidInputError(
            "Everybody in the history was called in every step after which they were observed: action 0 was never "
            "seen, and nothing tells what people do when left alone. Add the steps without calls."
        )


def _check_name(id_column: Any) -> str:
    if not isinstance(id_column, str):
        raise InvalidInputError(f"id_column must be the name of a column, not {id_column!r}.")
    return id_column


def _ids(frame: pl.DataFrame, ids: Any, id_column: str) -> pl.Series | None:
    """The ids of the rows; None if the table has no ids."""
    if ids is not None and not isinstance(ids, str):
        return as_text_ids(as_series("ids", ids, frame.height))
    if isinstance(ids, str) and ids not in frame.columns:
        raise InvalidInputError(f"The table has no column {ids!r}. Correct its name.")
    name = next((name for name in (ids or id_column, LABELS) if name in frame.columns), None)
    return None if name is None else as_text_ids(frame[name])


def _weeks(history: Any, ids: pl.Series | None, id_column: str, num_states: Any, num_people: int) -> Trajectories:
    """Everyone's weeks in the order of the people. A person without rows was never observed."""
    if isinstance(history, Trajectories) and history.num_arms != num_people:
        raise InvalidInputError(
            f"people has {num_people} rows and history {history.num_arms}. Row i of both must be the same person; or "
            "give the history as a table with ids."
        )
    if ids is None and not isinstance(history, Trajectories):
        raise InvalidInputError(NO_IDS)
    states = None if num_states is None else check_count("num_states", num_states, minimum=1)
    read = read_history(history, id_column, states, ids)
    if ids is not None and read.ids is not None:
        check_distinct(ids)
        _refuse_strangers(read.ids, ids)
    _check_learnable(read)
    if isinstance(history, Trajectories) and history.num_states == read.num_states:
        return history
    rows = np.arange(num_people)
    return read.take(rows if ids is None else read.find(ids, rows))


def _refuse_strangers(found: pl.Series, ids: pl.Series) -> None:
    strangers = found.filter(~found.is_in(ids.implode()))
    if len(strangers):
        raise InvalidInputError(
            f"history has rows of id {strangers[0]!r}, whom people does not have. Add the person there, or leave these "
            "rows out."
        )


def _check_learnable(history: PeopleHistory) -> None:
    """Refuse a history without rows or without two observed steps in a row: there is nothing to learn."""
    if not len(history):
        raise InvalidInputError("The history has no rows. Check the table or the filter that it comes from.")
    if not (history.observed[:, 1:] & history.observed[:, :-1]).any():
        raise InvalidInputError(
            "Nobody in the history was observed in two steps in a row, so that there is no transition to learn from. "
            "Number the steps one by one (week 0, 1, 2, …); dates and days are not steps."
        )


def hash_people(ids: pl.Series) -> UInt64[np.ndarray, " people"]:
    """A keyed hash of each id. The key is random, so the hash means nothing outside this process."""
    digests = b"".join(hashlib.blake2b(name.encode(), digest_size=8, key=_KEY).digest() for name in ids.to_list())
    return np.frombuffer(digests, np.uint64)


def refuse_overlap(learned_from: UInt64[np.ndarray, " learned"], judged: UInt64[np.ndarray, " judged"]) -> None:
    """Refuse to judge a planner by people whom it learned from."""
    both = int(np.isin(judged, learned_from).sum())
    if both:
        _refuse(f"{both:,} of these {len(judged):,} people are")


def refuse_same_table(learned_from: str, judged: str) -> None:
    """Refuse to judge a planner by the table that it learned from. The arguments are fingerprints of the data."""
    if learned_from == judged:
        _refuse("These people are")


def _refuse(who: str) -> None:
    raise InvalidInputError(
        f"{who} among those whom the planner learned from, so the comparison would flatter it. Hold some people back: "
        "fit on the others, and evaluate on those held back."
    )
