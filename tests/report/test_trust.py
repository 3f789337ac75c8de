"""Whether predictions came true: beside what everyone does on average, and beside each person's own past."""

import pytest

from armwise.evaluation.prediction import PredictionQuality
from armwise.evaluation.resampling import Estimate
from armwise.report.trust import say_predictions
from tests.report.pages import make_facts, sample_data, write_section


def predictions(own_weeks, population):
    return (
        PredictionQuality("armwise", Estimate(0.6, 0.58, 0.62), Estimate(0.0, 0.0, 0.0)),
        PredictionQuality("accuracy (MSE)", Estimate(0.6, 0.58, 0.62), Estimate(0.1, 0.05, 0.15)),
        PredictionQuality("population", Estimate(0.61, 0.59, 0.63), Estimate(*population)),
        PredictionQuality("own weeks", Estimate(0.5, 0.48, 0.52), Estimate(*own_weeks)),
    )


@pytest.mark.parametrize(
    ("lead", "words"),
    [
        (
            (-0.1, -0.12, -0.08),
            "A person's own past weeks predict better than armwise does: average surprise 0.500 against 0.600.",
        ),
        ((0.1, 0.08, 0.12), "A person's own past weeks predict worse than armwise does: average surprise"),
        ((0.0, -0.01, 0.01), "A person's own past weeks predict neither better nor worse than armwise"),
    ],
)
def test_own_weeks_are_compared_in_words(lead, words):
    said = say_predictions(predictions(lead, (0.01, -0.01, 0.03)), "week")
    assert words in said
    assert "One prediction for all people in the same state predicts neither better nor worse than armwise" in said
    assert "MSE" not in said


def test_the_section_has_the_sentence_the_bins_and_the_table(tmp_path):
    section = write_section("checks", make_facts(sample_data(tmp_path)))
    assert "own past weeks predict better than armwise does" in section
    assert "in each later week" in section
    assert "0.610 (0.590 to 0.630)" in section
    assert section.index("predict better") < section.index("<svg")
