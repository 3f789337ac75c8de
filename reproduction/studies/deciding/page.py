"""``docs/deciding.md``, written from the results of the study: every number and every sentence about numbers."""

import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from armwise.evaluation.simple_rules import RULES_OF_THUMB
from armwise.io.writing import write_file
from reproduction.results import rows_of
from reproduction.studies.deciding.cells import Cell, Key, gather, lead_over_rules, places_of, standard_error
from reproduction.studies.deciding.fresh import fresh_section
from reproduction.studies.deciding.study import (
    BOUND,
    ESTIMATED_INDEX,
    NO_FEATURES,
    PERMUTED,
    POSTERIOR,
    RECOMMENDED,
    STUDY,
    TRUE_INDEX,
    WEEKS,
    WORLDS,
    Row,
    Size,
)

OTHERS = ("random", "best rule")
KNOWN = (TRUE_INDEX, ESTIMATED_INDEX, BOUND)
CONTROLS = (NO_FEATURES, PERMUTED)  # in the default world alone
WORLDS_IN_WORDS = {
    "default": "`simulated_programme` as it is: a call adds 0.5 ± 0.6 to the log-odds of engaging next week when "
    "disengaged and 0.2 ± 0.6 when engaged, and nothing for three people in ten; features explain 10 % of the "
    "differences between people",
    "features tell 2 %": "features explain 2 % of the differences between people",
    "twice the spread": "people differ twice as much in how readily they come back and stay",
    "small effect": "a call adds 0.2 ± 0.6 in both states",
    "weekly decline": "everyone loses 0.05 of log-odds each week; judged by the chains of the last week",
    "10 % unobserved": "one week in ten of each person was not recorded",
}
INTRO = """# Ways to decide whom to call

This page compares ways to choose whom to call, on simulated programmes whose truth is known: rules of thumb, each
person's posterior chain, and models trained by each loss in armwise. No person in it is real. It is written from
`results/deciding.parquet`; a test checks that it says what the results say.
"""
TRUTHS = """## Two truths

**Behaviour.** The chains by which the simulated people really move from week to week. A programme never sees them. This
is what its calls are worth.

**Estimates.** Chains estimated from the same weeks that the models learn from, each person's own counts with a pooled
prior of strength 5. The paper judges in this way, because real data offer nothing better. A person was called about
once in 25 weeks, so her row for "called" is almost the pool's and her row for "not called" is her own. The apparent
effect of a call is then the pool's rate less her own: whoever engaged least, often by bad luck, seems to gain most. A
way to choose that picks the same people is credited with that luck.

In both, 0 is never calling and 1 is the Whittle policy of the truth in question. That policy is no upper bound; the
fluid bound is (`armwise.fluid_bound`): no rule that keeps to the budget can reach more.
"""
WAYS = """## Ways to choose

{rules}

"{posterior}" is what `OutreachPlanner` does by default: the model of `docs/model.md` is fitted to the
training and validation cohorts, and people are called by the Whittle index of the chain that their own weeks and
features give. Three constants of its priors were chosen by quality on the first 8 of these 10 programmes of the default
world, so its figures there are a little flattered. The other worlds share seeds with it and were not looked at. "Fresh
programmes" below have other seeds.

Losses train a linear model of the 44 features on the training cohorts' estimated chains, and people are called by the
Whittle index of the predicted chain. They know features alone, not a person's own weeks. Learning rate (0.01 or 0.001),
temperature (1 or 0.1) and epoch are chosen by the loss on the validation cohorts. "{recommended}" is
`train_recommended`. "Least likely to engage" uses the predictions of NLL. The linear mixture is missing because its
gradient is zero almost everywhere. {sim}

"{true_index}" knows what no programme knows. "{estimated_index}" calls by each person's own
estimated chain; judged by estimates it is 1 by definition.
"""
COMMAND = """## Run it again

    python -m reproduction deciding          # 18 jobs; what is in results/ is not computed again
    python -m reproduction deciding --page   # this page, from results/deciding.parquet

`--part 3/16` computes a sixteenth of the jobs, for several processes; `--quick` is one small job. `--kind sim-dfl` and
`--kind posterior` compute SIM-DFL and the posteriors alone and add them; `--kind fresh` computes the fresh programmes.
The losses of a job train its 10 programmes side by side: all 18 jobs took 9 minutes on one H200 (the first 3 minutes,
mostly compilation, the others 19 seconds each); on one CPU core a job takes about half an hour. The posteriors took 8
minutes on the same machine, the fresh programmes 6.
"""


def write_page(results: Path, page: Path) -> None:
    """Write the page from a folder of results."""
    write_file(page, page_text(*read_results(results)))


def read_results(results: Path) -> tuple[list[Row], list[Row]]:
    """The rows of the study, and those of fresh programmes, if there are any."""
    rows = rows_of(results, STUDY, "ways")
    order = {"world": list(WORLDS), "kind": ["posterior", "sim-dfl", "losses", "fresh"]}
    places = [pl.col(name).replace_strict(each, range(len(each))) for name, each in order.items()]
    rows = rows.sort(places[0], "weeks", places[1], "seed", maintain_order=True)
    is_fresh = pl.col("kind") == "fresh"
    study, fresh = (rows.filter(each).select(Row._fields) for each in (~is_fresh, is_fresh))
    return [Row(*row) for row in study.rows()], [Row(*row) for row in fresh.rows()]


def page_text(rows: list[Row], fresh: Sequence[Row] = ()) -> str:
    """The page."""
    cells = gather(rows)
    ways = [*_usable(cells), *KNOWN]
    rules = "\n".join(f"- **{name}**: {sentence}" for name, sentence in RULES_OF_THUMB.items())
    simulated = any(way.startswith("SIM-DFL") for way in ways)
    sim = (
        "SIM-DFL simulates 10 trajectories for each gradient."
        if simulated
        else "SIM-DFL was not run (`--kind sim-dfl` adds it)."
    )
    names = {"recommended": RECOMMENDED.capitalize(), "true_index": TRUE_INDEX.capitalize()}
    names["posterior"] = POSTERIOR.capitalize()
    described = WAYS.format(rules=rules, sim=sim, estimated_index=ESTIMATED_INDEX.capitalize(), **names)
    parts = [INTRO, _worlds(rows), TRUTHS, described, findings(cells), fresh_section(list(fresh))]
    return "\n".join(part for part in (*parts, _tables(cells, ways), COMMAND) if part)


def _worlds(rows: list[Row]) -> str:
    size, seeds = Size(), len({row.seed for row in rows})
    people = sum(size.cohorts) * size.cohort_size
    lines = [
        "## Worlds\n",
        f"{people:,} people in cohorts of {size.cohort_size}, {size.budget} calls a week in each; past calls "
        f"were\ndrawn at random. {size.cohorts[0]} cohorts to learn from, {size.cohorts[1]} to choose settings by, "
        f"{size.cohorts[2]} to judge on. {seeds} simulated\nprogrammes for each world and number of weeks seen. In "
        "judgement half of the people start engaged.\n",
        "| world | what differs |\n|---|---|",
        *(f"| {world} | {WORLDS_IN_WORDS[world]} |" for world in WORLDS),
    ]
    return "\n".join(lines) + "\n"


def findings(cells: dict[Key, Cell]) -> str:
    """What the numbers show, in sentences made from them."""
    sentences = [textwrap.fill(f"- {line}", 118, subsequent_indent="  ") for line in _lines(cells)]
    return "\n".join(["## What it shows\n", *sentences, "", *_against_rules(cells)]) + "\n"


def _lines(cells: dict[Key, Cell]) -> list[str]:
    return [*_default(cells), *_best(cells), *_luck(cells)]


def _default(cells: dict[Key, Cell]) -> list[str]:
    """How the default planner's way does, by behaviour, beside rules of thumb and without features."""
    if not any(key[3] == POSTERIOR for key in cells):
        return []
    return [lead_over_rules(cells), *_controls(cells)]


def _controls(cells: dict[Key, Cell]) -> list[str]:
    """What features that say nothing cost."""
    if not any(key[3] == PERMUTED for key in cells):
        return []

    def against_none(way: str) -> str:
        of = [cells["behaviour", "default", weeks, way].quality for weeks in WEEKS]
        without = [cells["behaviour", "default", weeks, NO_FEATURES].quality for weeks in WEEKS]
        leads = [own - other for own, other in zip(of, without, strict=True)]
        return ", ".join(f"{lead.mean():+.3f} ± {standard_error(lead):.3f}" for lead in leads)

    return [
        f"Beside the same model without features, in the default world after {', '.join(map(str, WEEKS))} weeks: with "
        f"the people's own features {against_none(POSTERIOR)}; with each person's features given to another person "
        f"{against_none(PERMUTED)}."
    ]


def _best(cells: dict[Key, Cell]) -> list[str]:
    """Which way has the highest mean, of all that a programme could use."""
    lines = []
    for judged_by in ("behaviour", "estimates"):
        rules, all_ways = (_winners(cells, judged_by, ways) for ways in (list(RULES_OF_THUMB), _usable(cells)))
        lines.append(f"Judged by {judged_by}, the best rule of thumb is {rules}; the best of all ways is {all_ways}.")
    return lines


def _winners(cells: dict[Key, Cell], judged_by: str, ways: list[str]) -> str:
    places = places_of(cells)
    best = [max(ways, key=lambda way: cells[judged_by, *place, way].mean) for place in places]
    ranked = sorted(set(best), key=lambda way: (-best.count(way), ways.index(way)))
    return ", ".join(f"{way} in {best.count(way)} of {len(places)}" for way in ranked)


def _luck(cells: dict[Key, Cell]) -> list[str]:
    def span(judged_by: str, way: str) -> str:
        means = [cell.mean for key, cell in cells.items() if (key[0], key[3]) == (judged_by, way)]
        return f"{min(means):.2f} to {max(means):.2f}"

    first, random = "disengaged first", "random"
    usable = {*_usable(cells), ESTIMATED_INDEX}
    most = max(cell.mean for key, cell in cells.items() if key[0] == "behaviour" and key[3] in usable)
    return [
        f"Of what calls could gain by behaviour, no way that a programme could use reaches more than {most:.2f}.",
        f"The index of people's true behaviour reaches {span('estimates', TRUE_INDEX)} when judged by estimates. The "
        "rest is what the estimates got wrong about people.",
        f"The {ESTIMATED_INDEX} is 1 by its own estimates and {span('behaviour', ESTIMATED_INDEX)} by behaviour.",
        f"Disengaged first reaches {span('estimates', first)} by estimates and {span('behaviour', first)} by "
        f"behaviour; random calls {span('estimates', random)} and {span('behaviour', random)}.",
        f"No rule could reach more than the fluid bound, {span('behaviour', BOUND)} by behaviour.",
    ]


def _against_rules(cells: dict[Key, Cell]) -> list[str]:
    """How often each learned way is clearly above or below random calls and the best rule of thumb."""
    head = " | ".join(f"{judged_by}: {other}" for judged_by in ("behaviour", "estimates") for other in OTHERS)
    lines = [
        f"In how many of the {len(places_of(cells))} pairs of world and weeks a learned way is above and below another "
        "by more than two standard\nerrors of the difference, paired by programme. The best rule of thumb is that of "
        "the highest mean, which no one knows\nbeforehand. The pairs share their seeds, so they are not independent.\n",
        f"| above, below | {head} |",
        "|---|" + "--:|" * 4,
    ]
    for way in _usable(cells)[len(RULES_OF_THUMB) :]:
        counts = [_clear(cells, judged_by, way, other) for judged_by in ("behaviour", "estimates") for other in OTHERS]
        lines.append(f"| {way} | {' | '.join(f'{above}, {below}' for above, below in counts)} |")
    return lines


def _clear(cells: dict[Key, Cell], judged_by: str, way: str, other: str) -> tuple[int, int]:
    above = below = 0
    for place in places_of(cells):
        of = {rule: cells[judged_by, *place, rule] for rule in RULES_OF_THUMB}
        rival = of["random"] if other == "random" else max(of.values(), key=lambda cell: cell.mean)
        lead = cells[judged_by, *place, way].quality - rival.quality
        above, below = above + _is_clear(lead), below + _is_clear(-lead)
    return above, below


def _usable(cells: dict[Key, Cell]) -> list[str]:
    """Rules of thumb and learned ways, in this order."""
    learned = [way for way in dict.fromkeys(key[3] for key in cells) if way not in (*RULES_OF_THUMB, *KNOWN, *CONTROLS)]
    return [*RULES_OF_THUMB, *learned]


def _is_clear(difference: np.ndarray) -> int:
    return int(difference.mean() > 2 * standard_error(difference))


def _tables(cells: dict[Key, Cell], ways: list[str]) -> str:
    lines = ["## Quality, ± standard error over the programmes\n"]
    for judged_by in ("behaviour", "estimates"):
        for weeks in WEEKS:
            worlds = [world for world in WORLDS if (judged_by, world, weeks, "never") in cells]
            if worlds:
                table = _table(cells, judged_by, weeks, worlds, ways)
                lines += [f"### Judged by {judged_by}, {weeks} weeks seen\n", *table, ""]
    return "\n".join(lines)


def _table(cells: dict[Key, Cell], judged_by: str, weeks: int, worlds: list[str], ways: list[str]) -> list[str]:
    head = [f"| way to choose | {' | '.join(worlds)} |", "|---|" + "--:|" * len(worlds)]
    return head + [
        f"| {way} | {' | '.join(str(cells[judged_by, world, weeks, way]) for world in worlds)} |" for way in ways
    ]
