"""A report to test: facts with names that would run if they were not escaped, made without learning anything."""

import dataclasses
from functools import cache

import numpy as np
import polars as pl

from armwise.planning import Finding, Report, init_programme
from armwise.planning.assessment import Assessment, LossQuality
from armwise.planning.calibration import Bin
from armwise.planning.call_list import Plan, PlanSummary
from armwise.planning.check import load_programme
from armwise.planning.findings import Total
from armwise.planning.inputs import Input
from armwise.planning.intervals import wilson
from armwise.planning.judging import Evaluation, PolicyQuality
from armwise.planning.kinds import Severity
from armwise.planning.manifest import Manifest
from armwise.planning.report.closeness import Closeness
from armwise.planning.report.effect import Effect
from armwise.planning.report.equity import make_groupings
from armwise.planning.report.facts import Facts, make_background
from armwise.planning.report.forecast import Course, Forecast
from armwise.planning.rules import CallRules

ATTACK = "<script>alert(1)</script>\"'&"
LONG = "never to be called: a reason that is longer than a narrow chart has room for, and says little"


@cache
def sample_data(folder):
    return load_programme(init_programme(folder / "sample")[0])


def make_assessment(**changes):
    policies = (
        PolicyQuality("armwise", 0.5, 0.1, 2.0, 1.0, 0.0, 0.0),
        PolicyQuality("random", 0.2, float("nan"), 1.0, 1.0),
        PolicyQuality("least likely to engage", 0.48, 0.1, 1.9, 1.0, 0.1, 0.2),
        PolicyQuality("disengaged first", 0.4, 0.1, 1.5, 1.0, 0.5, 0.1),
        PolicyQuality("round robin", 0.6, 0.1, 2.5, 1.0, -0.5, 0.1),
    )
    bins = (Bin(0.2, wilson(5, 30), 30), Bin(0.8, wilson(20, 25), 25))
    kept = Assessment(
        inputs={"settings": Input("programme.toml", "ab")},
        num_people=60,
        evaluation=Evaluation(policies, 5, 12, 1, 100),
        losses=(LossQuality("accuracy", 0.4, 0.1, 1.5), LossQuality("decisions", 0.5, 0.1, 2.0)),
        left_alone=bins,
        called=(),
    )
    return dataclasses.replace(kept, **changes)


def make_facts(data, **changes):
    """Facts about the sample programme's people, with an attack as an id, a group and the programme's name."""
    names = [ATTACK, *data.ids[1:3].to_list()]
    calls = pl.DataFrame(
        {
            "id": names,
            "rank": [1, 2, 3],
            "group": [ATTACK, "north", "south"],
            "state": [0, 1, None],
            "index": [0.5, 0.4, 0.3],
            "expected_gain": [1.25, 0.5, 0.0],
            "reason": [f"{ATTACK}; a call adds 1.25 weeks", "engaged", "never observed"],
        }
    )
    summary = PlanSummary(300, 250, 3, 3, {}, {"called recently": 40, LONG: 5, f"never: {ATTACK}": 10}, {ATTACK: 2}, 1)
    language = data.features["language"].to_list()
    language[:40], language[40:45] = [ATTACK] * 40, ["tiny"] * 5
    data = dataclasses.replace(data, features=data.features.with_columns(pl.Series("language", language)))
    quality = dataclasses.replace(data.quality, outages=(3,), missing_features=((ATTACK, 7), ("age", 0)))
    finding = Finding("outage", Severity.WARNING, "f.csv", 17, ATTACK, "SECRET CELL", "SECRET ID", "What.", "Do this.")
    facts = Facts(
        name=f"Programme {ATTACK}",
        step="week",
        num_states=2,
        plan=Plan(calls, summary, CallRules(3), lambda identity: calls),
        manifest=Manifest({}, {"armwise": "0"}, 0, "the step from 2024-02-26", "c" * 64, {}),
        forecast=Forecast(
            tuple(
                Course(name, tuple(np.linspace(0.5, end, 13)), gained, (gained - 1, gained + 1))
                for name, end, gained in (
                    ("calls by armwise", 0.6, 30.0),
                    ("at random", 0.55, 10.0),
                    ("no calls", 0.5, 0.0),
                )
            ),
            200,
            3,
        ),
        groupings=make_groupings(data, names, 10),
        smallest_group=10,
        assessment=make_assessment(),
        is_current=True,
        quality=quality,
        findings=Report((finding,), (Total("outage", Severity.WARNING, "f.csv", ATTACK, "What.", "Do this.", 1),)),
        num_learned_from=300,
        effect=Effect(60, 0.2, 0.05),
        closeness=Closeness(200, 0, 1, 0.58, 0.2),
        background=make_background(data, calls),
    )
    return facts._replace(**changes)


def make_full_list(data, num_calls=42):
    """Facts as the demonstration's: the same number of calls for each district, with different pasts."""
    facts = make_facts(data)
    rng, size = np.random.default_rng(0), num_calls
    districts = sorted(data.groups.unique().to_list())
    chosen = [
        identity for name in districts for identity in data.ids.filter(data.groups == name)[: size // len(districts)]
    ]
    order = rng.permutation(size)
    calls = pl.DataFrame(
        {
            "id": [chosen[place] for place in order],
            "rank": range(1, size + 1),
            "group": [districts[place // (size // len(districts))] for place in order],
            "state": rng.integers(0, 2, size),
            "index": np.linspace(0.6, 0.2, size),
            "expected_gain": np.linspace(0.7, 0.1, size),
            "reason": ["not shown"] * size,
        }
    )
    background = make_background(data, calls).with_columns(
        since_observed=pl.Series(rng.integers(1, 13, size)),
        num_calls=pl.Series(rng.integers(0, 4, size)),
        since_call=pl.Series(rng.integers(1, 13, size)),
    )
    summary = dataclasses.replace(facts.plan.summary, num_calls=size, budget=size)
    plan = Plan(calls, summary, CallRules(size), lambda identity: calls)
    return facts._replace(plan=plan, background=background, groupings=make_groupings(data, chosen, 10))
