"""Whom a planner learned from, so that it is not judged by the same people.

A planner's file holds nobody's data, and a hash of an id can be guessed by trying all ids. So who was learned from is
known in the process that has fitted, and nowhere else: as hashes under a key that the process never writes down.
Afterwards only the fingerprint of the data as a whole is left, which still tells the very same table.
"""

import hashlib
import secrets

import numpy as np
import polars as pl
from jaxtyping import UInt64

from armwise.errors import InvalidInputError

_KEY = secrets.token_bytes(32)


def hash_people(ids: pl.Series) -> UInt64[np.ndarray, " people"]:
    """A number for each id, which means nothing outside this process."""
    digests = b"".join(hashlib.blake2b(name.encode(), digest_size=8, key=_KEY).digest() for name in ids.to_list())
    return np.frombuffer(digests, np.uint64)


def refuse_overlap(learned_from: UInt64[np.ndarray, " learned"], judged: UInt64[np.ndarray, " judged"]) -> None:
    """Refuse to judge by people who were learned from."""
    both = int(np.isin(judged, learned_from).sum())
    if both:
        _refuse(f"{both:,} of these {len(judged):,} people are")


def refuse_same_table(learned_from: str, judged: str) -> None:
    """Refuse to judge by the very table that was learned from; both by the fingerprint of their data."""
    if learned_from == judged:
        _refuse("These people are")


def _refuse(who: str) -> None:
    raise InvalidInputError(
        f"{who} among those whom the planner learned from, so the comparison would flatter it. Hold some people back: "
        "fit on the others, and evaluate on those held back."
    )
