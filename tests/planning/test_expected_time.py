"""The time that learning takes is said before it starts, and grows with the people who are learned from."""

import re

import pytest

from armwise.planning import weekly
from armwise.planning.expected_time import expected_time
from tests.planning.small import write_programme


def test_the_time_grows_with_the_people_up_to_those_who_are_learned_from():
    assert "300 people: about 40 seconds of processor time, 50 seconds at most" in expected_time(
        300, 100, 1000, "linear"
    )
    assert "3,000 people: about 90 seconds of processor time, 3 minutes" in expected_time(3000, 100, 1000, "linear")
    assert "30,000 people: about 9 minutes of processor time, 18 minutes" in expected_time(30_000, 100, 1000, "linear")
    tenths = [re.sub(r"[\d,]+ people", "", expected_time(number, 100, 1000, "linear")) for number in (10**5, 10**6)]
    assert tenths[0] == tenths[1]
    assert "takes longer" in expected_time(300, 100, 1000, "large")


@pytest.mark.parametrize("work", [weekly.fit_programme, weekly.evaluate_programme])
def test_it_is_said_before_anything_is_learned(tmp_path, monkeypatch, work):
    said = []

    class StopError(Exception):
        pass

    def learn(*_, **__):
        raise StopError

    path = write_programme(tmp_path)
    monkeypatch.setattr(weekly.OutreachPlanner, "fit", learn)
    monkeypatch.setattr(weekly, "hold_back", lambda *_: ((), ()))
    with pytest.raises(StopError):
        work(path, started=said.append)
    (sentence,) = said
    assert re.match(r"Learning from [34] people: about 40 seconds", sentence)
