"""A planner is not judged by the people it learned from, and keeps nothing by which they could be found."""

import pickle

import numpy as np
import polars as pl
import pytest

import armwise as aw
from armwise.errors import InvalidInputError
from armwise.planner import Evaluation, learning_data
from tests.planner.outreach import small, under_other_ids

JUDGED = Evaluation((), 0, 0, 0, 0)


@pytest.fixture
def unjudged(monkeypatch):
    """Evaluation without its simulation: only whether it is refused matters here."""
    monkeypatch.setattr("armwise.planner.judging.judge", lambda *_: JUDGED)


@pytest.mark.usefixtures("unjudged")
def test_people_of_fit_are_refused_with_their_number():
    case = small()
    others, weeks = under_other_ids(case)
    assert case.planner.evaluate(others, weeks) is JUDGED
    mixed = pl.concat([case.people[:7], others[7:]])
    history = pl.concat([case.weeks, weeks]).filter(pl.col("id").is_in(mixed["id"].implode()))
    with pytest.raises(InvalidInputError, match=r"^7 of these 120 people are among those .* Hold some people back"):
        case.planner.evaluate(mixed, history)
    with pytest.raises(InvalidInputError, match="120 of these 120 people"):
        case.planner.evaluate(case.people, case.weeks)


@pytest.mark.usefixtures("unjudged")
def test_rows_without_ids_are_other_people_unless_the_table_is_the_same():
    settings = aw.TrainConfig(num_epochs=1)
    rng = np.random.default_rng(0)
    tables = [rng.integers(0, 3, (40, 2)) for _ in range(2)]
    seen = [aw.Trajectories.from_arrays(*rng.integers(0, 2, (2, 40, 5))) for _ in range(2)]
    planner = aw.OutreachPlanner(aw.MeanSquaredError(), config=settings, cohort_size=8).fit(tables[0], seen[0])
    assert planner.evaluate(tables[1], seen[1]) is JUDGED
    with pytest.raises(InvalidInputError, match="These people are among those whom the planner learned from"):
        planner.evaluate(tables[0], seen[0])


@pytest.mark.usefixtures("unjudged")
def test_a_loaded_planner_knows_the_table_as_a_whole(tmp_path):
    case = small()
    case.planner.save(tmp_path / "m")
    loaded = aw.OutreachPlanner.load(tmp_path / "m")
    with pytest.raises(InvalidInputError, match="These people are among those"):
        loaded.evaluate(case.people, case.weeks)
    half = case.people[:60]
    assert loaded.evaluate(half, case.weeks.filter(pl.col("id").is_in(half["id"].implode()))) is JUDGED


def test_nobody_is_found_in_what_is_kept(monkeypatch):
    case = small()
    kept = pickle.dumps(case.planner._learned_from)
    assert not any(identity.encode() in kept for identity in case.people["id"])
    ours = learning_data.hash_people(case.people["id"].sort())
    assert set(ours.tolist()) == set(case.planner._learned_from.tolist())
    monkeypatch.setattr(learning_data, "_KEY", b"of another process")
    assert not set(learning_data.hash_people(case.people["id"]).tolist()) & set(ours.tolist())
