"""The page about null worlds, written from the results."""

import csv
import math
import textwrap
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from armwise.io.writing import write_file
from reproduction.studies.null_worlds import women_and_men
from reproduction.studies.null_worlds.study import (
    NUM_PEOPLE,
    NUM_WEEKS,
    POWER_EFFECTS,
    POWER_PEOPLE,
    POWER_WORLDS,
    SHARE,
    WORLDS,
)

COLUMNS = ("world", "figure", "worlds", "claimed", "covered_95", "covered_90", "mean", "truth")
PROMISE = "promise of the list"
KINDS = {
    "effect of calls": "effect of calls: everyone, by state, by group",
    "gain of one call": "gain of one call, by state",
    "gain: ": "gain of 100 calls, each way to choose",
    "lead over": "lead of armwise, over each rule of thumb",
    "promise": "promise of the list",
    "sentence": "the sentence that past calls helped, or hurt",
}
WIDTH = 120
PAGE = """# How armwise judges calls

This page says how armwise finds out whether calls help and whether its lists are better than rules of thumb, and how
far that can be trusted. Its tables are written from `results/null-worlds/summary.csv`; a test checks that they agree.

## Why not by estimated chains

The paper judges a list by each person's estimated chain. A person is called once in 25 weeks or so. So her row for
"called" is nearly the pool's, and her row for "not called" is her own. The difference of the two rows is then the
pool's rate less her own rate: whoever engages least seems to gain most from a call, in training and in the truth by
which it is judged. Where calls do nothing at all, such a judgement still finds a gain.

## Did calls help?

The effect of a call is estimated as an effect, from the calls that were made. For each past decision to call or not,

    next state = what was known before · β + called · state · θ + error.

What was known before is the week, the state, how long the person had been in it, how she did before and her earlier
calls (`evaluation/decisions.py`). If calls were made by lot, θ is the average effect. If they were made by a rule, it
is the average over decisions that could have gone either way, and it is right if nobody was called for a reason that
is not in the files. No data can check that. A state in which hardly anyone was called takes the effect of the nearest
state. So does one in which everyone was called: nobody is left to compare with. A group in which everyone was called
has no estimate.

Every interval comes from resampling people: all of this estimation is done again for each of 400 resamples. A
few calls that all ended alike do not differ between resamples: a standard error below 85 % of what it would be if calls
changed nothing is raised to that. This share, and intervals by Student's t, were chosen on worlds of other seeds.

## Are the lists better than rules of thumb?

`planner.backtest` learns from half of the people, from the weeks up to t, and lists whom to call among the other half
in the weeks after t. The list is judged by what calls in the weeks after the first t did: by state, in the half that
the planner did not learn from, and by the place in the planner's own order. So a planner is credited with its choice
only where people whom it ranks high did gain more from calls than others in the same state. Effects are taken to be a
straight line in that place. Where too few of these calls could have gone otherwise, no way to choose is judged. The
planners themselves are not learned again for each resample, and each learns by one run of training, not by the whole
recipe of `armwise fit`.

The gain of a call is its effect on the next week, times what the person is worth afterwards: engaged weeks in the 12
weeks after the call, by her own weeks and what others do (`evaluation/persistence.py`).

## What a list is promised to bring

The promise is about the calls of this list and the 12 weeks after them. It is not about 12 weeks of calling. A rule
that calls the same people again comes to call those whom calls do not help, because the others have come back. Past
calls by lot do not tell how many these are.

## Worlds in which calls do nothing

{worlds} simulated programmes of each kind: {people} people, {weeks} weeks, {calls} calls a week. A claim is a 95 %
interval that leaves 0 out; here every claim is false. Ranges are over the figures of a kind.

{null}

{null_words}

Where the longest disengaged were called first, hardly anybody like them was left alone. So "disengaged first" is not
judged there, and has no figure.

## Worlds in which calls hurt, or help a little

{known}

The 90 % interval of the promise covers the truth in {promise} of the worlds of each kind, those without an effect
included.

## How large an effect, and how many calls, until it is shown

Share of {power_worlds} programmes of {weeks} weeks in which `armwise evaluate` says that calls helped; one person in
24 was called each week. The effect on next week is the average over states, on the chance of being engaged. Three
people in ten are never affected.

{power}

## Calls that help women and not men, who engage less

{women_worlds} programmes of {women_people} people and {women_weeks} weeks, 5 % called by lot each week; the planner
also sees six features that mean nothing, and makes a list of {listed}.

{women}

## Run it again

    python -m reproduction null-worlds          # 23 minutes on two cores
    python -m reproduction null-worlds --page   # this page, from results/null-worlds/summary.csv

Women and men are planned by the default planner. In all other worlds, the lists judged here are those of a linear model
of features alone, trained by one run of the recommended loss for two past weeks each, and judged with 200 resamples of
people. Run today, that loss corrects each person's posterior chain: other lists are judged by the same estimates.
"""
WIDTH_95, WIDTH_90 = 1.959963984540054, 1.6448536269514722


def write_summary(folder: Path, target: Path) -> None:
    """One row for each kind of world and figure: shares of worlds with a claim, and whose intervals cover the truth."""
    groups: dict[tuple[str, str], list[tuple[float, float, float]]] = defaultdict(list)
    for path in sorted(folder.glob("figures-*.csv")):
        with open(path, encoding="utf-8") as file:
            for row in csv.DictReader(file):
                numbers = (float(row["value"]), float(row["error"]), float(row["truth"]))
                groups[row["world"], row["figure"]].append(numbers)
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(COLUMNS)
        for key, figures in groups.items():
            known = [each for each in figures if not math.isnan(each[0])]
            if known:
                rows.writerow((*key, *_summarise(known)))


def _summarise(usable: list[tuple[float, float, float]]) -> list[str]:
    number = len(usable)
    claimed = sum(abs(value) > WIDTH_95 * error for value, error, _ in usable) / number
    covered = [
        sum(abs(value - truth) <= width * error for value, error, truth in usable) / number
        if not any(math.isnan(truth) for *_, truth in usable)
        else math.nan
        for width in (WIDTH_95, WIDTH_90)
    ]
    means = [sum(each[place] for each in usable) / number for place in (0, 2)]
    return [str(number), *(f"{share:.4f}" for share in (claimed, *covered, *means))]


def write_page(summary: Path, target: Path) -> None:
    """The page, from the summary."""
    write_file(target, page_text(read_summary(summary)))


class Row(NamedTuple):
    """One figure over all worlds of a kind, as in the summary."""

    world: str
    figure: str
    worlds: int
    claimed: float
    covered_95: float
    covered_90: float
    mean: float
    truth: float


def read_summary(path: Path) -> list[Row]:
    """The rows of the summary."""
    with open(path, encoding="utf-8") as file:
        return [
            Row(row["world"], row["figure"], int(row["worlds"]), *(float(row[name]) for name in COLUMNS[3:]))
            for row in csv.DictReader(file)
        ]


def page_text(rows: list[Row]) -> str:
    """The whole page."""
    return PAGE.format(
        people=f"{NUM_PEOPLE:,}",
        weeks=NUM_WEEKS,
        calls=round(SHARE * NUM_PEOPLE),
        worlds=max(row.worlds for row in rows if row.world in WORLDS),
        null=_null_table(rows),
        null_words=_null_words(rows),
        known=_known_table(rows),
        promise=_promise_words(rows),
        power=_power_table(rows),
        power_worlds=POWER_WORLDS,
        women=_women_table(rows),
        women_worlds=women_and_men.NUM_WORLDS,
        women_people=f"{women_and_men.NUM_PEOPLE:,}",
        women_weeks=women_and_men.NUM_WEEKS,
        listed=women_and_men.LISTED,
    )


def _kind(figure: str) -> str:
    return next(kind for start, kind in KINDS.items() if figure.startswith(start))


def _null_table(rows: list[Row]) -> str:
    lines = ["| world | figure | claims | 95 % intervals that cover 0 | 90 % intervals |", "|---|---|--:|--:|--:|"]
    for world in (name for name in WORLDS if name.startswith("no effect")):
        for kind in dict.fromkeys(KINDS.values()):
            here = [row for row in rows if row.world == world and _kind(row.figure) == kind]
            shares = (_range([getattr(row, name) for row in here]) for name in ("claimed", "covered_95", "covered_90"))
            lines.append(f"| {world} | {kind} | {' | '.join(shares)} |")
    return "\n".join(lines)


def _range(shares: list[float]) -> str:
    low, high = f"{100 * min(shares):.1f}", f"{100 * max(shares):.1f}"
    return f"{low} %" if low == high else f"{low} to {high} %"


def _null_words(rows: list[Row]) -> str:
    null = [row for row in rows if row.world in WORLDS and row.world.startswith("no effect")]
    null = [row for row in null if row.figure != "sentence"]
    shares = [row.covered_95 for row in null]
    outside = [share for share in shares if not 0.93 <= share <= 0.97]
    average = sum(shares) / len(shares)
    number = null[0].worlds
    by_chance = len(shares) * (1 - np.diff(binom.cdf([np.ceil(0.93 * number) - 1, 0.97 * number], number, 0.95))[0])
    return textwrap.fill(
        f"Of {len(shares)} figures, {len(shares) - len(outside)} have 95 % intervals that cover 0 in 93 to 97 % of the "
        f"worlds; {'the others in ' + _range(outside) if outside else 'there is no other'}. On average it is "
        f"{100 * average:.1f} %. If every true share were 95 %, {by_chance:.0f} of {len(shares)} figures would be "
        f"outside by chance, with {number} worlds. The figures of a world share their luck, and so do worlds of the "
        f"same seed. The sentence that past calls helped or hurt is not among them: it asks about everyone and about "
        f"each state, so that up to 7.5 % of such sentences are wrong by design. Here {_sentence_words(rows)} are.",
        WIDTH,
    )


def _sentence_words(rows: list[Row]) -> str:
    return _range([row.claimed for row in rows if row.figure == "sentence" and row.world.startswith("no effect")])


def _known_table(rows: list[Row]) -> str:
    lines = [
        "| world | figure | truth, mean | estimate, mean | claims | 95 % intervals that cover the truth | 90 % |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        known = not math.isnan(row.covered_95) and row.figure != "sentence"
        if row.world in ("calls hurt", "calls help a little") and known:
            shares = " | ".join(f"{100 * share:.1f} %" for share in (row.claimed, row.covered_95, row.covered_90))
            lines.append(f"| {row.world} | {row.figure} | {row.truth:.3f} | {row.mean:.3f} | {shares} |")
    return "\n".join(lines)


def _promise_words(rows: list[Row]) -> str:
    covered = [row.covered_90 for row in rows if row.figure == PROMISE]
    return f"{100 * min(covered):.1f} to {100 * max(covered):.1f} %"


def _power_table(rows: list[Row]) -> str:
    shown = {row.world: row for row in rows if row.world.startswith("power")}
    header = "| log-odds added by a call | effect on next week | " + " | ".join(
        f"{people:,} people, {round(SHARE * people) * (NUM_WEEKS - 1):,} calls" for people in POWER_PEOPLE
    )
    lines = [f"{header} |", "|--:|--:|" + "--:|" * len(POWER_PEOPLE)]
    for effect in POWER_EFFECTS:
        cells = [shown[f"power {effect:g} {people}"] for people in POWER_PEOPLE]
        shares = " | ".join(f"{100 * each.mean:.0f} %" for each in cells)
        lines.append(f"| {effect:g} | {100 * cells[0].truth:+.1f} points | {shares} |")
    return "\n".join(lines)


def _women_table(rows: list[Row]) -> str:
    here = {row.figure: row for row in rows if row.world == women_and_men.WORLD}
    lines = ["| on disengaged people | truth | women | men |", "|---|--:|--:|--:|"]
    for name, words in (
        ("estimated effect", "estimated from past calls"),
        ("planner's prediction", "the planner predicts"),
    ):
        women, men = (here[f"{name}: {who}"].mean for who in ("women", "men"))
        lines.append(f"| {words} | {women_and_men.EFFECT:.2f} and 0.00 | {women:.3f} | {men:.3f} |")
    listed, lead = here["men on the list"].mean, here["lead over: random"]
    words = (
        f"On average the planner lists {listed:.0f} men of {women_and_men.LISTED}. Its lead over calls at random in "
        f"the backtest is {lead.mean:+.1f} engaged weeks per 100 calls on average; the interval excludes 0 in "
        f"{100 * lead.claimed:.0f} % of the worlds."
    )
    return "\n".join(lines) + "\n\n" + textwrap.fill(words, WIDTH)
