"""Every rule of thumb judged: each spends all of its budget, but for never calling."""

import jax
import numpy as np
import pytest

import armwise as aw
from tests.oracles import random_transitions


def test_every_rule_uses_its_budget(rng):
    chains, problem = np.stack([random_transitions(rng, "dense", 8, 3) for _ in range(2)]), aw.Problem(num_states=3)
    for name, way in aw.rules_of_thumb(problem, chains, rng.integers(1, 9, (4, 8, 3, 2, 3))).items():
        quality = aw.priority_decision_quality(jax.random.key(5), way, chains, problem, 2, 10, 8)
        assert quality.budget_use.tolist() == [0.0 if name == "never" else pytest.approx(1)] * 2
