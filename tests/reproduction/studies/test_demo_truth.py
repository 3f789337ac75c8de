"""The study of what the demo's lists are truly worth: its page, and its rules on small cases."""

from pathlib import Path

import numpy as np

import armwise as aw
from reproduction.studies import demo_truth

ROOT = Path(__file__).parents[3]


def test_the_page_has_the_table_of_the_results():
    page = (ROOT / "docs" / "planning.md").read_text(encoding="utf-8")
    assert "\n".join(demo_truth.table(ROOT / "results" / "demo" / "summary.csv")) in page


def test_armwise_is_ahead_of_every_rule_by_two_standard_errors():
    rows = [line.split(",") for line in (ROOT / "results" / "demo" / "summary.csv").read_text().splitlines()[1:]]
    gains = {way: np.array([float(gain) for _, name, gain in rows if name == way]) for way in {row[1] for row in rows}}
    for way, own in gains.items():
        if way != "armwise":
            lead = gains["armwise"] - own
            assert lead.mean() > 2 * lead.std(ddof=1) / len(lead) ** 0.5, way


def test_where_people_stand():
    history = aw.Trajectories.from_arrays(
        [[1, 0, 0, 0], [1, 1, 1, 0]], [[0, 1, 0, 0], [0, 0, 0, 0]], [[True] * 4, [True, True, True, False]]
    )
    last, gap, run, since = demo_truth._standing(history)
    assert last.tolist() == [0, 1]
    assert gap.tolist() == [0, 1]
    assert run.tolist() == [3, 3]
    assert since.tolist() == [3.0, 5.0]


def test_people_not_seen_last_week_are_moved_on_by_their_chain():
    chain = np.array([[[[0.8, 0.2], [0.5, 0.5]], [[0.3, 0.7], [0.1, 0.9]]]] * 2)
    belief = demo_truth._believe(chain, np.array([0, 1]), np.array([0, 2]))
    np.testing.assert_allclose(belief[0], [1, 0])
    np.testing.assert_allclose(belief[1], np.linalg.matrix_power(chain[1, :, 0], 2)[1])


def test_a_list_takes_the_highest_scores_and_shares_calls_between_equals():
    np.testing.assert_allclose(demo_truth._listed(np.array([3.0, 1.0, 1.0, 2.0]), 3), [1, 0.5, 0.5, 1])
