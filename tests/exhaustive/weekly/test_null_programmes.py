"""From files to the words on the terminal: where calls do nothing, nothing is claimed; where they hurt, it is said."""

import numpy as np
import pytest

from armwise.training import TrainConfig
from armwise.weekly import assess_programme, write_text
from tests.weekly.backtests import write_sample

NUM_WORLDS = 12


def judge_world(folder, seed, num_people=300, **assumed):
    """The evaluation of a simulated programme under other assumptions than the sample's."""
    path = write_sample(folder, num_people, seed=seed, **assumed)
    return assess_programme(path, losses={}, config=TrainConfig(num_epochs=5))


@pytest.mark.parametrize("past_calls", ["random", "disengaged first"])
def test_where_calls_do_nothing_claims_are_as_rare_as_chance_allows(tmp_path, past_calls):
    """Before, 28 % of such claims were "significant". An interval of 95 % may miss 0 in about 1 of 20 worlds."""
    kept = [
        judge_world(tmp_path / str(seed), seed, unaffected=1.0, past_calls=past_calls) for seed in range(NUM_WORLDS)
    ]
    gains = [way.gain for each in kept for way in each.ways if way.name != "never"]
    assert sum(each.effects.is_shown for each in kept) <= 2
    assert sum(each.effects.is_harmful for each in kept) <= 2
    assert sum("armwise did better" in write_text(each) for each in kept) <= 2
    # The ways share one estimate of the effect, so that their intervals miss together: as if there were 12 in all. Of
    # 12, three or more miss on one side by chance (2.5 %) once in 350 times, and four or more on either side (5 %) once
    # in 450 times.
    assert np.mean([gain.is_above_zero for gain in gains]) <= 2 / 12
    assert np.mean([gain.is_above_zero or gain.is_below_zero for gain in gains]) <= 3 / 12


def test_calls_that_hurt_are_shown_to_hurt(tmp_path):
    kept = judge_world(tmp_path, 0, 3000, call_effect=-1.0, call_effect_spread=0.0, unaffected=0.0)
    text = write_text(kept)
    assert kept.effects.is_harmful
    assert not kept.effects.is_shown
    assert text.splitlines()[1].startswith("Past calls hurt.")
    never = next(way for way in kept.ways if way.name == "never")
    assert never.lead.value < 0
    assert "armwise did better than: never" not in text
