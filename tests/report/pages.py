"""A report to test: facts with names that would run if they were not escaped, made without learning anything."""

import dataclasses
from functools import cache

import numpy as np
import polars as pl

from armwise.evaluation.effects import CallEffect, CallEffects
from armwise.evaluation.prediction import PredictionQuality
from armwise.evaluation.resampling import Estimate
from armwise.planner import WayJudged
from armwise.planner.plan import Plan, PlanSummary
from armwise.planner.rules import CallRules
from armwise.programme import Finding, Report, init_programme
from armwise.programme.finding_kinds import Severity
from armwise.programme.findings import Total
from armwise.programme.inputs import Input
from armwise.programme.loading import load_programme
from armwise.report.equity import make_groupings
from armwise.report.facts import Closeness, Facts, Promise, make_background
from armwise.report.page import SECTIONS
from armwise.report.rendering import templates
from armwise.weekly.calibration import Bin
from armwise.weekly.evaluation_file import Assessment
from armwise.weekly.manifest import Manifest
from armwise.weekly.shares import wilson

ATTACK = "<script>alert(1)</script>\"'&"
LONG = "never to be called: a reason that is longer than a narrow chart has room for, and says little"


def write_section(name, facts):
    """A section without its heading."""
    return templates().get_template(f"{name}.html").render(section=SECTIONS[name][1](facts))


def draw(chart):
    """A chart under its title, with its legend."""
    return templates().get_template("parts.html").module.figure(chart)


def make_effects(overall=(0.2, 0.1, 0.3), away=(0.3, 0.15, 0.45), engaged=(0.1, -0.05, 0.25), **changes):
    """Effects of past calls, for everyone and by state before the call; one group would run if it were not escaped."""
    effects = CallEffects(
        CallEffect("everyone", 60, Estimate(*overall)),
        (CallEffect("state 0", 40, Estimate(*away)), CallEffect("state 1", 20, Estimate(*engaged))),
        {"language": (CallEffect(ATTACK, 30, Estimate(0.1, 0.0, 0.2)), CallEffect("urdu", 3, Estimate(*[np.nan] * 3)))},
        50.0,
        0.95,
    )
    return dataclasses.replace(effects, **changes)


@cache
def sample_data(folder):
    return load_programme(init_programme(folder / "sample")[0])


def make_way(name, gain, lead=0.0, error=1.0):
    """A way judged, with intervals of the same width on both sides."""
    return WayJudged(name, Estimate(gain, gain - error, gain + error), Estimate(lead, lead - error, lead + error))


def make_assessment(**changes):
    nothing = Estimate(*[float("nan")] * 3)
    bins = (Bin(0.2, wilson(5, 30), 30), Bin(0.8, wilson(20, 25), 25))
    kept = Assessment(
        inputs={"settings": Input("programme.toml", "ab")},
        num_people=60,
        effects=make_effects(),
        ways=(
            make_way("armwise", 20.0, error=4.0)._replace(lead=Estimate(0.0, 0.0, 0.0)),
            make_way("accuracy (MSE)", 18.0, 2.0, 3.0),
            WayJudged("never", Estimate(0.0, 0.0, 0.0), Estimate(20.0, 16.0, 24.0)),
            make_way("random", 10.0, 10.0, 4.0),
            make_way("round robin", 11.0, 9.0, 4.0),
            make_way("disengaged first", 21.0, -1.0, 3.0),
            make_way("population index", 26.0, -6.0, 3.0),
            WayJudged("least likely to engage", nothing, nothing),
        ),
        predictions=(
            PredictionQuality("armwise", Estimate(0.6, 0.58, 0.62), Estimate(0.0, 0.0, 0.0)),
            PredictionQuality("population", Estimate(0.61, 0.59, 0.63), Estimate(0.01, -0.01, 0.03)),
            PredictionQuality("own weeks", Estimate(0.5, 0.48, 0.52), Estimate(-0.1, -0.12, -0.08)),
        ),
        left_alone=bins,
        called=(),
        num_states=2,
        origins=(3, 4, 5),
        num_judged=240,
        num_calls=30,
        budget_share=0.05,
        bound=40.0,
    )
    return dataclasses.replace(kept, **changes)


def make_promise(listed=(30.0, 10.0, 50.0), lots=(20.0, 5.0, 35.0), lead=(10.0, -5.0, 25.0), num_calls=3):
    """What the list brings, with intervals."""
    return Promise(num_calls, Estimate(*listed), Estimate(*lots), Estimate(*lead))


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
            "gain_low": [0.25, -0.5, -0.1],
            "gain_high": [2.25, 1.5, 0.1],
            "reason": [f"{ATTACK}; a call adds 1.25 weeks", "engaged", "never observed"],
        }
    )
    summary = PlanSummary(
        300, 250, 3, 3, {}, {"called recently": 40, LONG: 5, f"never: {ATTACK}": 10}, {ATTACK: 2}, 1, 1
    )
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
        promise=make_promise(),
        groupings=make_groupings(data, names, 10),
        smallest_group=10,
        assessment=make_assessment(),
        is_current=True,
        quality=quality,
        findings=Report((finding,), (Total("outage", Severity.WARNING, "f.csv", ATTACK, "What.", "Do this.", 1),)),
        num_learned_from=300,
        effects=make_effects(),
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
            "gain_low": np.linspace(0.4, -0.2, size),
            "gain_high": np.linspace(1.0, 0.4, size),
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
