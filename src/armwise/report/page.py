"""The report's page: one HTML file that opens anywhere and loads nothing. The same plan gives the same page."""

from collections.abc import Callable
from importlib import resources
from typing import NamedTuple

from markupsafe import Markup

from armwise.report.alarms import find_alarms
from armwise.report.calls import calls_section
from armwise.report.comparison import better_section
from armwise.report.effect import effect_section
from armwise.report.facts import Facts
from armwise.report.numbers import count
from armwise.report.people import equity_section
from armwise.report.promise import forecast_section
from armwise.report.rendering import templates
from armwise.report.trust import checks_section, data_section

# With this policy, the browser fetches and runs nothing, even if something on the page tried to.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
# What may be wrong comes first, and the evidence comes before the list. Each section has a template of the same name.
SECTIONS: dict[str, tuple[str, Callable[[Facts], object]]] = {
    "alarms": ("Before you use this list", find_alarms),
    "effect": ("Did past calls help?", effect_section),
    "better": ("Is this better than simpler ways?", better_section),
    "calls": ("Whom to call, and why", calls_section),
    "forecast": ("What the calls are expected to bring", forecast_section),
    "equity": ("Who gets the calls", equity_section),
    "checks": ("Did predictions come true?", checks_section),
    "data": ("How good the data are", data_section),
}


class Page(NamedTuple):
    """The parts of the page outside the sections.

    Attributes:
        title: the window's title.
        name: the programme's name.
        is_simulated: whether the programme is simulated, so that nobody in it is real.
        note: what a reader must know first, if there is anything.
        numbers: calls and people, in a sentence.
        num_learned_from: people that the model learned from.
        versions: the versions of the software that made the list.
        digest: the beginning of the list's SHA-256.
    """

    title: str
    name: str
    is_simulated: bool
    note: str | None
    numbers: str
    num_learned_from: str
    versions: str
    digest: str


def write_page(facts: Facts) -> str:
    """Write the whole page. The same facts give the same bytes on any day."""
    style = resources.files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    sections = [(name, title, make(facts)) for name, (title, make) in SECTIONS.items()]
    page = templates().get_template("page.html")
    return page.render(page=_page(facts), sections=sections, policy=POLICY, style=Markup(style))


def _page(facts: Facts) -> Page:
    summary = facts.plan.summary
    return Page(
        title=f"Calls for {facts.planned_step}: {facts.name}",
        name=facts.name,
        is_simulated=facts.is_simulated,
        note=facts.note,
        numbers=(
            f"{count(summary.num_calls)} of {count(summary.budget)} possible calls for {facts.planned_step}; "
            f"{count(summary.num_people)} people, {count(summary.num_eligible)} of whom may be called now."
        ),
        num_learned_from=count(facts.num_learned_from),
        versions=", ".join(f"{name} {number}" for name, number in facts.manifest.versions.items()),
        digest=facts.manifest.calls[:16],
    )
