"""The part of the page on deciding about fresh programmes, which no constant of the model was chosen by."""

import textwrap

from armwise.evaluation.simple_rules import RULES_OF_THUMB
from reproduction.studies.deciding.cells import Cell, Key, gather, lead_over_rules, standard_error
from reproduction.studies.deciding.study import EXACT, POSTERIOR, WEEKS, WORLDS, Row

FRESH = """## Fresh programmes

The same, for {number} programmes of each world with other seeds, which nothing was chosen by. Judged by behaviour.
"Least likely to engage" knows people by their posterior chains here, and not by NLL.

{findings}

| way to choose, after {weeks} weeks | {worlds} |
|---|{columns}
{table}
"""


def fresh_section(rows: list[Row]) -> str:
    """The section, or nothing where no fresh programme was judged."""
    if not rows:
        return ""
    cells, ways = gather(rows), [*RULES_OF_THUMB, POSTERIOR]
    findings = [lead_over_rules(cells), _ceiling(cells)]
    return FRESH.format(
        number=len({row.seed for row in rows}),
        findings="\n".join(textwrap.fill(f"- {line}", 118, subsequent_indent="  ") for line in findings),
        weeks=", ".join(map(str, WEEKS)),
        worlds=" | ".join(WORLDS),
        columns="--:|" * len(WORLDS),
        table="\n".join(f"| {way} | {' | '.join(_by_weeks(cells, world, way) for world in WORLDS)} |" for way in ways),
    )


def _by_weeks(cells: dict[Key, Cell], world: str, way: str) -> str:
    return ", ".join(f"{cells['behaviour', world, weeks, way].mean:.2f}" for weeks in WEEKS)


def _ceiling(cells: dict[Key, Cell]) -> str:
    """What the exact posterior would reach, beside which the model's can be judged."""
    of = [[cells["behaviour", "default", weeks, way].quality for weeks in WEEKS] for way in (EXACT, POSTERIOR)]
    reached = ", ".join(f"{each.mean():.2f}" for each in of[0])
    leads = [known - own for known, own in zip(*of, strict=True)]
    more = ", ".join(f"{lead.mean():+.3f} ± {standard_error(lead):.3f}" for lead in leads)
    return (
        "Nobody can know a person exactly from few weeks. If the true population of the default world were known and "
        "each person's posterior were computed exactly, from her weeks and without features, its index would reach "
        f"{reached} ({more} beside the model's). What is missing up to 1 cannot be learned from her weeks."
    )
