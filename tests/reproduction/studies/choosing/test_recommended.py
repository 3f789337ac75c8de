"""The recommended recipe as a programme runs it: divided anew, averaged, judged by split."""

import dataclasses
import json

import jax
import numpy as np
import pytest

from armwise.data import SplitNumbers
from armwise.errors import InvalidInputError
from armwise.models import average_models
from armwise.training import RECOMMENDED_CONFIG
from reproduction.__main__ import main
from reproduction.parts import read_part
from reproduction.results import read_rows
from reproduction.runs.domains import save_domain
from reproduction.runs.scoring import score
from reproduction.studies.choosing import recommended
from reproduction.studies.choosing.judged import judge_recommended, recommended_table, verdict
from reproduction.studies.choosing.recommended import (
    MEMBERS,
    RecommendedRow,
    inner_splits,
    run_recommended,
)
from tests.reproduction.small import run_row, small_domain, write, write_runs

CONFIG = dataclasses.replace(RECOMMENDED_CONFIG, num_epochs=2, quality_trajectories=2)


def averages_in(results):
    return read_rows(results, "recommended", "averages", RecommendedRow)


def test_cohorts_are_divided_anew_and_the_test_is_left_alone():
    outer = SplitNumbers(np.arange(6), np.arange(6, 8), np.arange(8, 10))
    splits = inner_splits(outer, seed=3)
    assert len(splits) == max(MEMBERS)
    assert splits[0].train.tolist() == outer.train.tolist()
    for split in splits:
        assert sorted([*split.train, *split.validation]) == list(range(8))
        assert (len(split.train), split.test.tolist()) == (6, [8, 9])
    assert len({tuple(sorted(split.validation)) for split in splits}) > 1
    assert [split.train.tolist() for split in inner_splits(outer, 3)] == [split.train.tolist() for split in splits]


@pytest.mark.parametrize("method", recommended.METHODS)
def test_each_split_is_tested_by_the_averages_of_its_members(tmp_path, monkeypatch, method):
    domain, kept = small_domain(), []
    train = recommended._train
    monkeypatch.setattr(recommended, "_train", lambda *arguments: kept.append(train(*arguments)) or kept[-1])
    options = {"methods": [method], "num_splits": 2, "num_trajectories": 50, "config": CONFIG}
    (part,) = run_recommended("small", domain, tmp_path, **options)
    rows = averages_in(tmp_path)
    assert len(rows) == 2 * len(MEMBERS) * (10 if method == "recommended" else 2)
    rows = [row for row in rows if row.chosen]
    assert [(row.split, row.num_members) for row in rows] == [(split, size) for split in (0, 1) for size in MEMBERS]
    for row in rows:
        assert row.learning_rate == kept[row.split].config.learning_rate
        if row.num_members == max(MEMBERS):
            assert row.validation_quality == pytest.approx(kept[row.split].validation_quality)
    tests = [domain.split_numbers(seed).test for seed in (0, 1)]
    for row in rows:
        one = kept[row.split]
        average = average_models([one.runs.model(run) for run in one.members[: row.num_members]])
        stacked = jax.tree.map(lambda leaf: leaf[None], average)
        joint = score(stacked, np.array([row.split]), domain, tests, num_trajectories=50).joint
        expected = (joint.achieved - joint.never).sum() / (joint.perfect - joint.never).sum()
        assert row.joint_quality == pytest.approx(float(expected), rel=1e-4)
    before = part.stat().st_mtime_ns
    run_recommended("small", domain, tmp_path, **options)
    assert part.stat().st_mtime_ns == before  # not run twice
    with pytest.raises(InvalidInputError, match="another protocol"):
        run_recommended("small", domain, tmp_path, **options | {"num_splits": 3})


def test_an_interrupted_study_goes_on_to_the_same_rows(tmp_path, monkeypatch):
    options = {"methods": ["mse"], "num_splits": 2, "num_trajectories": 5, "config": CONFIG}
    (whole,) = run_recommended("small", small_domain(), tmp_path / "whole", **options)
    with monkeypatch.context() as patch:
        patch.setattr(recommended, "_test", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run_recommended("small", small_domain(), tmp_path, **options)
    stopped = tmp_path / "unfinished" / "recommended" / "small--mse"
    assert len(list(stopped.iterdir())) == 2  # both splits are kept
    with monkeypatch.context() as patch:
        patch.setattr("armwise.training.engine.advance_many", lambda *_: pytest.fail("it trained again"))
        (part,) = run_recommended("small", small_domain(), tmp_path, **options)
    assert read_part(part)["tables"] == read_part(whole)["tables"]
    assert not stopped.exists()


def test_the_recipe_is_judged_by_split_against_the_best_single_loss(tmp_path):
    runs = [
        run_row(loss=loss, split=split, initialisation=first, joint_quality=quality)
        for loss, qualities in {"mse": ((0.5, 0.6), (0.7, 0.8)), "nll": ((0.1, 0.1), (0.1, 0.1))}.items()
        for split, pair in enumerate(qualities)
        for first, quality in enumerate(pair)
    ]
    rows = [
        RecommendedRow("synthetic-2", method, split, size, 3.0, 0.01, 1, 0.9, quality - 0.1 * (5 - size), 0.5, "here")
        for method, pair in {"recommended": (0.75, 0.9), "mse": (0.6, 0.8)}.items()
        for split, quality in enumerate(pair)
        for size in MEMBERS
    ]
    write_runs(tmp_path, "paper", runs)
    bold = {"learning_rate": 0.1, "chosen": 0, "validation_quality": 0.95, "joint_quality": 0.3}
    rows.append(dataclasses.replace(rows[len(MEMBERS) - 1], **bold))  # on the first split; thought better, was not
    for method in ("recommended", "mse"):
        own = [row for row in rows if row.method == method]
        write(tmp_path, "recommended", method, {"domain": "synthetic-2", "method": method}, {"averages": own})
    (line,) = judge_recommended(tmp_path)
    assert (line.domain, line.num_splits, line.best) == ("synthetic-2", 2, "mse")
    np.testing.assert_allclose((line.best_quality, line.accuracy_quality, line.bold_quality), (0.65, 0.7, 0.6))
    np.testing.assert_allclose((line.accuracy.difference, line.accuracy.error), (0.125, 0.025))  # 0.15 and 0.1
    np.testing.assert_allclose([line.by_members[size] for size in MEMBERS], (0.425, 0.625, 0.825))
    np.testing.assert_allclose(line.difference, 0.175)  # 0.75 - 0.55 and 0.9 - 0.75
    np.testing.assert_allclose(line.error, np.std([0.2, 0.15], ddof=1) / 2**0.5)
    np.testing.assert_allclose(line.half_width, 12.706 * line.error, rtol=1e-4)
    assert recommended_table(tmp_path).splitlines()[-1] == (
        "| synthetic-2 | 2 | MSE | 0.650 | 0.425 | 0.625 | 0.825 | +0.1750 [-0.1427, +0.4927] | no difference shown | "
        "0.600 | 0.700 | +0.1250 ± 0.0250 |"
    )
    assert verdict(tmp_path) == (
        "On none of 1 domains worse than the best single loss beyond their difference's standard error; ahead on 1 of "
        "1, with an interval that excludes zero on 0.\n"
    )


def test_a_part_of_another_recipe_is_refused(tmp_path, monkeypatch):
    options = {"methods": ["mse"], "num_splits": 1, "num_trajectories": 5, "config": CONFIG}
    (part,) = run_recommended("small", small_domain(), tmp_path, **options)
    page = read_part(part)
    del page["asked"]["config"]["patience"]  # as a part from before there was one
    part.write_text(json.dumps(page))
    with pytest.raises(InvalidInputError, match="another protocol"):
        run_recommended("small", small_domain(), tmp_path, **options)
    options["config"] = dataclasses.replace(CONFIG, patience=None)
    assert run_recommended("small", small_domain(), tmp_path, **options) == [part]
    for name, values in (("LEARNING_RATES", (0.5,)), ("ACCURACY_WEIGHTS", (0.5,))):
        with monkeypatch.context() as patch:
            patch.setattr(recommended, name, values)
            with pytest.raises(InvalidInputError, match="another protocol"):
                run_recommended("small", small_domain(), tmp_path, **options)


def test_the_average_leaves_out_what_diverged(tmp_path, monkeypatch):
    domain, trained = small_domain(), []
    train = recommended._train

    def spoiled(*arguments):
        one = train(*arguments)
        best_epoch = one.runs.best_epoch.copy()
        best_epoch[0] = 0  # the first member of the first setting
        trained.append(one.runs)
        return one._replace(runs=one.runs._replace(best_epoch=best_epoch))

    monkeypatch.setattr(recommended, "_train", spoiled)
    options = {"methods": ["mse"], "num_splits": 1, "num_trajectories": 5, "config": CONFIG}
    run_recommended("small", domain, tmp_path, **options)
    rows = [row for row in averages_in(tmp_path) if row.learning_rate == 1e-2]
    assert [row.num_members for row in rows] == [size for size in MEMBERS if size > 1]
    (runs,), own = trained, np.arange(0, 10, 2)[1:3]  # of three members, two are left
    np.testing.assert_allclose(rows[0].validation_quality, runs.at_best("quality")[own].mean(), rtol=1e-6)


def test_nothing_is_claimed_of_what_was_not_run(tmp_path):
    assert verdict(tmp_path) == "Not run yet.\n"
    with pytest.raises(InvalidInputError, match="method must be one of recommended, mse, not 'nll'"):
        run_recommended("small", small_domain(), tmp_path, methods=["nll"])


def test_the_command_writes_its_part(tmp_path, monkeypatch, capsys):
    save_domain(tmp_path / "small.npz", small_domain())
    monkeypatch.setattr("reproduction.runs.commands.RECOMMENDED_CONFIG", CONFIG)
    options = ["--method", "mse", "--splits", "1", "--quality-trajectories", "2"]
    assert main(["recommended", "--domain", str(tmp_path / "small.npz"), "--out", str(tmp_path), *options]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "unfinished" / "recommended" / "small--mse.json")
    assert len(averages_in(tmp_path)) == 2 * len(MEMBERS)  # two learning rates
