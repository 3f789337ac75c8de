"""The page: well formed, escaped, self-contained, the same for the same plan, and nothing on it that must not be."""

import re
from html.parser import HTMLParser

import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

from armwise.report.markup import join, tag
from armwise.report.page import SECTIONS, write_page
from armwise.report.rendering import templates
from armwise.report.tables import PageTable
from tests.report.pages import ATTACK, make_assessment, make_facts, sample_data

# Elements that have no end.
VOID = ("meta", "br")


class Reader(HTMLParser):
    """Follows the elements of a page, refusing what a browser would have to repair."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.elements, self.text = [], [], [], []

    def handle_starttag(self, name, attributes):
        self.elements.append((name, dict(attributes)))
        self.ids += [value for key, value in attributes if key == "id"]
        if name not in VOID:
            self.open.append(name)

    def handle_endtag(self, name):
        assert self.open, f"</{name}> closes nothing"
        assert self.open.pop() == name

    def handle_data(self, content):
        self.text.append(content)

    def all(self, name):
        return [attributes for element, attributes in self.elements if element == name]


def read(page):
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    return make_facts(sample_data(tmp_path_factory.mktemp("page")))


@pytest.fixture(scope="module")
def page(facts):
    return write_page(facts)


def test_every_element_is_closed_and_every_id_is_unique(page):
    reader = read(page)
    assert page.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert len(reader.ids) == len(set(reader.ids)) > 20
    assert set(SECTIONS) <= set(reader.ids)
    links = [attributes["href"] for attributes in reader.all("a")]
    contents = [f"#{name}" for name in SECTIONS]
    # The alarms come first, each with a link to what says more.
    assert links[-len(contents) :] == contents
    assert set(links) == set(contents)


def test_charts_and_tables_can_be_read_without_seeing_them(page):
    reader = read(page)
    charts = [attributes for attributes in reader.all("svg") if attributes.get("role") == "img"]
    assert len(charts) >= 8
    for attributes in charts:
        assert set(attributes["aria-labelledby"].split()) <= set(reader.ids)
    assert len(reader.all("caption")) == len(reader.all("table")) >= 8
    assert all(attributes.get("scope") == "col" for attributes in reader.all("th"))


def test_nothing_is_fetched_and_nothing_runs(page):
    reader = read(page)
    names = {name for name, _ in reader.elements}
    assert not names & {
        "script",
        "link",
        "img",
        "iframe",
        "object",
        "embed",
        "base",
        "form",
        "image",
        "use",
        "foreignobject",
    }
    for _, attributes in reader.elements:
        assert not any(key.startswith("on") or key in ("src", "srcset", "style", "action") for key in attributes)
        assert attributes.get("href", "#").startswith("#")
    assert not re.search(r"https?:|//[a-z]|@import|url\(|javascript:|data:(?!;)", page, re.IGNORECASE)
    policies = [each["content"] for each in reader.all("meta") if each.get("http-equiv") == "Content-Security-Policy"]
    assert len(policies) == 1
    assert "default-src 'none'" in policies[0]


def test_text_from_files_is_text_on_the_page(page):
    assert "<script" not in page
    said = "".join(read(page).text)
    # As an id, as a group of the list and of the table, as a reason, a rule, a feature, the programme.
    assert said.count("<script>alert(1)</script>") >= 8


def test_the_same_facts_give_the_same_bytes(facts, page):
    assert write_page(facts) == page
    assert not re.search(r"\b20[2-9]\d-\d\d-\d\d\b", page.replace("2024-02-26", ""))


def test_simulated_data_are_named_first(facts, page):
    assert "SIMULATED DATA" not in page
    simulated = write_page(facts._replace(name="Sample (simulated)"))
    assert simulated.index("SIMULATED DATA") < simulated.index("<h1>")


def test_a_note_of_the_settings_stands_below_the_title(facts, page):
    noted = write_page(facts._replace(note="Assumed: 1 < 2"))
    assert noted == page.replace("</h1>", '</h1><p class="soft">Assumed: 1 &lt; 2</p>', 1)


def test_small_groups_are_not_on_the_page(page):
    assert "tiny" not in page
    assert "not shown" in page


def test_findings_show_neither_cells_nor_ids(page):
    assert "SECRET" not in page
    assert "Do this." in page


def test_without_an_evaluation_the_page_says_how_to_get_one(facts, page):
    bare = write_page(facts._replace(assessment=None, promise=None, is_current=False))
    read(bare)
    # The comparison, what the calls bring, and the check of the predictions; the effect of calls needs no evaluation.
    assert bare.count("armwise evaluate PROGRAMME --for-report") == 3
    assert "Past calls helped." in bare
    assert "armwise evaluate PROGRAMME --for-report" not in page


def test_an_evaluation_of_other_files_is_marked(facts):
    old = write_page(facts._replace(is_current=False))
    assert old.count("computed from other files than the list") == 3


def test_what_could_not_be_measured_is_a_dash(facts):
    page = write_page(facts)
    assert '<td class="long">the risk score (least likely to engage)</td><td class="number">–</td>' in page
    assert not re.search(r"\bnan\b", page, re.IGNORECASE)
    empty = make_assessment(left_alone=(), called=())
    assert "nothing was observed" in write_page(facts._replace(assessment=empty))


def test_an_empty_list_and_no_groups_are_said(facts):
    plan = facts.plan
    nobody = type(plan)(plan.calls.clear(), plan.summary, plan.rules, plan._standing)
    page = write_page(facts._replace(plan=nobody, groupings=()))
    read(page)
    assert "no column that divides people" in page


def test_a_long_list_is_cut_and_says_so(facts):
    plan = facts.plan
    many = type(plan)(plan.calls[[0] * 250], plan.summary, plan.rules, plan._standing)
    page = write_page(facts._replace(plan=many))
    assert "50 more are in the call list itself" in page


def test_markup_escapes_text_once():
    assert tag("p", ATTACK).count("<") == 2
    assert tag("p", tag("b", "&")) == "<p><b>&amp;</b></p>"
    assert tag("p", "", title='"') == '<p title="&quot;"></p>'
    assert tag("p", "\x1b\u202e") == "<p>\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}</p>"
    assert isinstance(join("a", None, Markup("<br>")), Markup)
    table = templates().get_template("parts.html").module.table
    assert table(PageTable("Caption <", ("<",), [("<",)])).count("&lt;") == 4


def test_templates_escape_what_they_are_given_and_know_every_name():
    def said(text, **names):
        return templates().from_string(text).render(names)

    assert said("{{ name }}", name=ATTACK).count("<") == 0
    assert said("{{ name }}", name="\x1b\u202e") == "\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}"
    assert said("{{ name }}", name=Markup("<b>")) == "<b>"
    with pytest.raises(UndefinedError, match="'nmae' is undefined"):
        said("{{ nmae }}", name="a")


def test_each_section_has_a_template_of_its_name():
    assert {f"{name}.html" for name in SECTIONS} | {"page.html", "parts.html"} == set(templates().list_templates())
