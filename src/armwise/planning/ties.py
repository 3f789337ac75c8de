"""Lots: numbers that belong to a person, a seed and a planned step, the same on every machine and in every version.

They decide between people whom the model cannot tell apart. The seed and the step are part of each lot: the same plan
made again draws the same lots, and next week's plan draws others.
"""

import hashlib
from collections.abc import Iterable

import numpy as np
from jaxtyping import UInt64


def tie_breaks(ids: Iterable[str], seed: int, step: int | str = 0) -> UInt64[np.ndarray, " people"]:
    """A number for each id: BLAKE2b, keyed by the seed and salted by the planned step.

    Only people who may reach the list need one, so that a plain loop (about a microsecond each) is enough even for
    millions.

    Args:
        ids: of the people.
        seed: of the planner.
        step: that is planned: its number, or its words as in the manifest.

    Example:
        >>> tie_breaks(["000085", "000193"], seed=0, step=12).tolist()
        [11039135065374604901, 2517836712362455629]
    """
    return _hash(ids, seed, step, b"tie")


def random_number(seed: int, step: int | str, below: int) -> int:
    """One random number of a plan, a whole one from 0 on and below ``below``: where its lots start."""
    return int(_hash([""], seed, step, b"start")[0]) * below >> 64


def _hash(texts: Iterable[str], seed: int, step: int | str, purpose: bytes) -> UInt64[np.ndarray, " texts"]:
    key = seed.to_bytes(16, "little", signed=True)
    salt = hashlib.blake2b(str(step).encode(), digest_size=16).digest()
    digests = b"".join(
        hashlib.blake2b(text.encode(), digest_size=8, key=key, salt=salt, person=purpose).digest() for text in texts
    )
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)
