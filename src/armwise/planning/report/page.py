"""The page: one HTML file that opens anywhere, asks no one for anything, and says the same for the same plan."""

from importlib import resources

from armwise.planning.report.facts import Facts
from armwise.planning.report.markup import Markup, count, tag
from armwise.planning.report.people import calls_section, equity_section, forecast_section
from armwise.planning.report.trust import checks_section, data_section, losses_section

# Even if something on the page tried to, the browser would fetch and run nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
SECTIONS = {
    "calls": ("Whom to call, and why", calls_section),
    "forecast": ("What the calls are expected to bring", forecast_section),
    "equity": ("Who gets the calls", equity_section),
    "checks": ("Did predictions come true?", checks_section),
    "worth": ("How the losses compare", losses_section),
    "data": ("How good the data are", data_section),
}


def write_page(facts: Facts) -> str:
    """The whole page; the same facts give the same bytes, whatever the day."""
    body = tag("body", _header(facts), tag("main", *_sections(facts)), _footer(facts))
    return f"<!DOCTYPE html>\n{tag('html', _head(facts), body, lang='en')}\n"


def _head(facts: Facts) -> Markup:
    style = resources.files("armwise.planning.report").joinpath("page.css").read_text(encoding="utf-8")
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
    links = [tag("li", tag("a", title, href=f"#{name}")) for name, (title, _) in SECTIONS.items()]
    return tag(
        "header",
        tag("p", simulated, class_="banner") if facts.is_simulated else None,
        tag("h1", facts.name),
        tag("p", f"Calls for {facts.planned_step}", class_="soft"),
        tag("ul", *_tiles(facts), class_="tiles"),
        tag("nav", tag("ul", *links), aria_label="Sections"),
        tag(
            "p",
            "This page holds ids of people. Keep it where the call list is kept, and share it as carefully.",
            class_="note",
        ),
    )


def _tiles(facts: Facts) -> list[Markup]:
    summary, courses = facts.plan.summary, facts.forecast.courses
    steps = len(courses[0].engagement) - 1
    over = f"engaged {facts.step}s gained over {steps} {facts.step}s"
    numbers = [
        (count(summary.num_calls), f"calls on the list, of {count(summary.budget)} possible"),
        (
            count(summary.num_people),
            f"people in the programme, {count(summary.num_eligible)} of whom may be called now",
        ),
        (f"{round(courses[0].gained):+,}", f"{over}, expected with such lists"),
        (f"{round(courses[1].gained):+,}", f"{over}, expected with as many calls at random"),
    ]
    return [tag("li", tag("b", number), " ", words) for number, words in numbers]


def _sections(facts: Facts) -> list[Markup]:
    return [
        tag("section", tag("h2", title, id=f"{name}-heading"), make(facts), id=name, aria_labelledby=f"{name}-heading")
        for name, (title, make) in SECTIONS.items()
    ]


def _footer(facts: Facts) -> Markup:
    versions = ", ".join(f"{name} {number}" for name, number in facts.manifest.versions.items())
    return tag(
        "footer",
        tag(
            "p",
            f"The model learned from {count(facts.num_learned_from)} people. Made with {versions}. The list's SHA-256 ",
            "is ",
            tag("code", facts.manifest.calls[:16]),
            "…; 'armwise plan PROGRAMME --verify' checks it against the files.",
            class_="note",
        ),
    )
