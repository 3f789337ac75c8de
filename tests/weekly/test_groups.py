"""Effects of past calls by group: small groups cannot be told apart, in what is estimated and in what is shown."""

import dataclasses

import numpy as np
import polars as pl
import pytest

from armwise.data import Trajectories
from armwise.evaluation.effects import call_effects
from armwise.planner.reasons import TOO_FEW, name_evidence
from armwise.report.facts import estimate_effects
from armwise.weekly.groups import SMALL_GROUPS, UNKNOWN, group_labels, of_large_groups
from tests.report.pages import sample_data


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return sample_data(tmp_path_factory.mktemp("groupings"))


def test_small_groups_share_a_label_and_are_not_shown(data):
    values = ["hindi"] * 250 + [None] * 30 + ["urdu"] * 11 + ["odia"] * 9
    mine = dataclasses.replace(data, features=data.features.with_columns(pl.Series("language", values)))
    labels = group_labels(mine, 10)["language"]
    # 9 people alone would follow from the totals, so the next larger group is hidden with them.
    assert np.unique(labels).tolist() == sorted(["hindi", UNKNOWN, SMALL_GROUPS])
    assert (labels == SMALL_GROUPS).sum() == 20
    kept = of_large_groups(call_effects(mine.trajectories, {"language": group_labels(mine, 1)["language"]}), mine, 10)
    assert [each.name for each in kept.by_group["language"]] == ["hindi", UNKNOWN]
    assert "language" not in of_large_groups(call_effects(mine.trajectories, {"language": labels}), mine, 300).by_group


def test_the_report_estimates_what_the_library_does(data):
    effects = estimate_effects(data, np.array([0.0, 1.0]), 10)
    direct = call_effects(data.trajectories, {"district": data.groups.to_numpy()})
    assert effects.overall == direct.overall
    assert sorted(effects.by_group["district"]) == sorted(direct.by_group["district"])


def test_a_history_without_calls_is_too_few_calls(data):
    states = np.asarray(data.trajectories.states)
    quiet = Trajectories.from_arrays(states, np.zeros_like(states), data.trajectories.observed)
    effects = estimate_effects(dataclasses.replace(data, trajectories=quiet), np.array([0.0, 1.0]), 10)
    assert name_evidence(effects) == TOO_FEW
    assert effects.overall.num_calls == 0
