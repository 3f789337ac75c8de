"""The time that learning takes is said before it starts, and grows with the people who are learned from."""

import re

import pytest

import armwise as aw
from armwise.weekly import assess_programme, fit_programme
from armwise.weekly.expected_time import expected_backtest_time, expected_chain_time, expected_time
from tests.programme.small import write_programme
from tests.weekly.backtests import write_sample


def test_the_time_grows_with_the_people_up_to_those_who_are_learned_from():
    assert "300 people: about 40 seconds of processor time, 50 seconds at most" in expected_time(
        300, 100, 1000, "linear"
    )
    assert "3,000 people: about 90 seconds of processor time, 3 minutes" in expected_time(3000, 100, 1000, "linear")
    assert "30,000 people: about 9 minutes of processor time, 18 minutes" in expected_time(30_000, 100, 1000, "linear")
    tenths = [re.sub(r"[\d,]+ people", "", expected_time(number, 100, 1000, "linear")) for number in (10**5, 10**6)]
    assert tenths[0] == tenths[1]
    assert "takes longer" in expected_time(300, 100, 1000, "large")


def test_the_time_of_a_backtest_grows_with_people_fits_and_losses():
    assert "learning 6 times from the early steps of half of 300 people" in expected_backtest_time(300, 6, 1, "linear")
    seconds = [
        int(re.search(r"About (\d+) (?:seconds|minutes)", expected_backtest_time(*case, "linear"))[1])
        for case in ((300, 6, 1), (10_000, 6, 1), (10_000, 18, 1), (10_000, 18, 3))
    ]
    assert seconds == sorted(set(seconds))
    assert "minutes" in expected_backtest_time(100_000, 18, 3, "linear")
    assert "takes longer" in expected_backtest_time(300, 6, 1, "large")


def test_it_is_said_before_anything_is_learned(tmp_path, monkeypatch):
    said = []

    class StopError(Exception):
        pass

    def learn(*_, **__):
        raise StopError

    path = write_programme(tmp_path)
    monkeypatch.setattr(aw.OutreachPlanner, "fit", learn)
    with pytest.raises(StopError):
        fit_programme(path, started=said.append)
    with pytest.raises(StopError):
        fit_programme(path, kind="linear", started=said.append)
    assert re.match(r"Learning from 4 people: about \d+ seconds of processor time, as measured", said[0])
    assert re.match(r"Learning from 4 people: about 40 seconds", said[1])


def test_the_time_for_chains_grows_with_weeks_up_to_those_who_are_learned_from():
    seconds = [
        int(re.search(r"about (\d+) (?:seconds|minutes)", expected_chain_time(*case))[1])
        for case in ((300, 8), (10_000, 30), (10_000, 60))
    ]
    assert seconds == sorted(set(seconds))
    assert "minutes" in expected_chain_time(100_000, 52)
    most, more = (re.sub(r"[\d,]+ people", "", expected_chain_time(number, 52)) for number in (10**5, 10**6))
    assert most == more


def test_a_backtest_says_it_before_too(tmp_path, monkeypatch):
    said = []

    class StopError(Exception):
        pass

    def judge(*_, **__):
        raise StopError

    monkeypatch.setattr(aw.OutreachPlanner, "backtest", judge)
    with pytest.raises(StopError):
        assess_programme(write_sample(tmp_path, 60), started=said.append)
    (sentence,) = said
    assert sentence.startswith("Backtest: learning 18 times")
