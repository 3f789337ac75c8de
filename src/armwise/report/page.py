"""The page: one HTML file that opens anywhere, asks no one for anything, and says the same for the same plan."""

from importlib import resources

from armwise.report.alarms import alarms_section
from armwise.report.calls import calls_section
from armwise.report.comparison import better_section
from armwise.report.effect import effect_section
from armwise.report.facts import Facts
from armwise.report.markup import Markup, count, tag
from armwise.report.people import equity_section
from armwise.report.promise import forecast_section
from armwise.report.trust import checks_section, data_section

# Even if something on the page tried to, the browser would fetch and run nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
# What may be wrong comes first; the list comes after what speaks for it.
SECTIONS = {
    "alarms": ("Before you use this list", alarms_section),
    "effect": ("Did past calls help?", effect_section),
    "better": ("Is this better than simpler ways?", better_section),
    "calls": ("Whom to call, and why", calls_section),
    "forecast": ("What the calls are expected to bring", forecast_section),
    "equity": ("Who gets the calls", equity_section),
    "checks": ("Did predictions come true?", checks_section),
    "data": ("How good the data are", data_section),
}


def write_page(facts: Facts) -> str:
    """The whole page; the same facts give the same bytes, whatever the day."""
    body = tag("body", _header(facts), tag("main", *_sections(facts)), _footer(facts))
    return f"<!DOCTYPE html>\n{tag('html', _head(facts), body, lang='en')}\n"


def _head(facts: Facts) -> Markup:
    style = resources.files("armwise.report").joinpath("page.css").read_text(encoding="utf-8")
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"Calls for {facts.planned_step}: {facts.name}"),
        Markup(f"<style>\n{style}</style>"),
    )


def _header(facts: Facts) -> Markup:
    simulated = "SIMULATED DATA. Nobody on this page is real; the numbers show how the report works, not what calls do."
    summary = facts.plan.summary
    numbers = (
        f"{count(summary.num_calls)} of {count(summary.budget)} possible calls for {facts.planned_step}; "
        f"{count(summary.num_people)} people, {count(summary.num_eligible)} of whom may be called now."
    )
    return tag(
        "header",
        tag("p", simulated, class_="banner") if facts.is_simulated else None,
        tag("h1", facts.name),
        tag("p", facts.note, class_="soft") if facts.note else None,
        tag("p", numbers, class_="soft"),
    )


def _contents() -> Markup:
    """The links, after the alarms: those are to be read by everyone, whatever she looks for."""
    links = [tag("li", tag("a", title, href=f"#{name}")) for name, (title, _) in SECTIONS.items()]
    return tag("nav", tag("ul", *links), aria_label="Sections")


def _sections(facts: Facts) -> list[Markup]:
    sections = [
        tag("section", tag("h2", title, id=f"{name}-heading"), make(facts), id=name, aria_labelledby=f"{name}-heading")
        for name, (title, make) in SECTIONS.items()
    ]
    return [sections[0], _contents(), *sections[1:]]


def _footer(facts: Facts) -> Markup:
    versions = ", ".join(f"{name} {number}" for name, number in facts.manifest.versions.items())
    return tag(
        "footer",
        tag(
            "p",
            "This page holds ids of people. Keep it where the call list is kept, and share it as carefully.",
            class_="note",
        ),
        tag(
            "p",
            f"The model learned from {count(facts.num_learned_from)} people. Made with {versions}. The list's SHA-256 ",
            "is ",
            tag("code", facts.manifest.calls[:16]),
            "…; 'armwise plan PROGRAMME --verify' checks it against the files.",
            class_="note",
        ),
    )
