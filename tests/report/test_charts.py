"""Charts: marks where the numbers are, whatever the numbers."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armwise.report.charts import (
    WIDTH,
    Point,
    Row,
    Scale,
    agreement_chart,
    bar_chart,
    column_chart,
    nice_ticks,
    row_chart,
)
from tests.report.pages import draw

SHARES = st.floats(0, 1)


def coordinates(chart, name):
    return [float(number) for number in re.findall(rf' {name}="(-?[\d.]+)"', chart)]


@given(st.floats(-5, 5), st.floats(0, 10))
def test_ticks_enclose_the_numbers_and_are_few(low, width):
    ticks = nice_ticks(low, low + width)
    assert ticks[0] <= low + 1e-6
    assert ticks[-1] >= low + width - 1e-6
    assert 2 <= len(ticks) <= 8
    assert ticks == sorted(set(ticks))


def test_a_scale_is_linear():
    scale = Scale(10, 20, 100, 300)
    assert [scale(value) for value in (10, 15, 20)] == [100, 200, 300]


def test_gridlines_of_rows_stay_clear_of_their_labels():
    chart = draw(row_chart("c", "title", [Row("a", (Point(0.2, 0.1, 0.3),)), Row("b", (Point(0, 0, 1),))], ("one",)))
    labels = [float(y) for y in re.findall(r'y="([\d.]+)" text-anchor="start" class="label"', chart)]
    lines = re.findall(r'y1="([\d.]+)" y2="([\d.]+)" class="grid', chart)
    assert len(labels) == 2
    # 16 units are the largest letters of the page; they reach 4 below the line that they stand on.
    assert not [1 for y in labels for top, bottom in lines if float(top) < y + 4 and float(bottom) > y - 13]


def test_what_lies_on_either_side_of_0_is_said():
    chart = draw(row_chart("c", "title", [Row("a", (Point(1, -1, 3),))], ("one",), "{:+.3g}", ends=("worse", "better")))
    assert ">worse<" in chart
    assert ">better<" in chart
    assert ">0<" in chart
    assert chart.count("grid zero") == 1


def test_rows_draw_points_and_intervals_but_not_what_is_unknown():
    unknown = math.nan
    rows = [Row("a", (Point(0.5, 0.4, 0.6), None)), Row("b", (Point(unknown, unknown, unknown), Point(0.1, 0, 0.2)))]
    chart = draw(row_chart("c", "title", rows, ("one", "two")))
    assert chart.count('class="reach') == 2
    assert chart.count('class="mark') == 2 + 2  # and the legend's
    assert "b: two 10%" in chart
    assert "nan" not in chart


def test_a_quality_below_nought_is_on_the_drawing():
    chart = draw(row_chart("c", "title", [Row("a", (Point(-0.5, -0.9, -0.1),))], ("quality",), "{:.2g}"))
    assert all(0 <= place <= WIDTH for name in ("x1", "x2", "cx") for place in coordinates(chart, name))


@pytest.mark.parametrize("values", [(0.0,), (0.5, 1.0, 0.0), tuple([0.3] * 200)])
def test_columns_and_bars_of_any_number(values):
    chart = draw(column_chart("c", "title", values, (0,), "x", "y"))
    assert chart.count("<rect") == len(values)
    assert chart.count("hollow") == 1
    assert min(coordinates(chart, "height")) >= 0
    bars = draw(bar_chart("b", "title", [(str(value), value) for value in values]))
    widths = coordinates(bars, "width")
    assert len(widths) == len(values)
    assert max(widths) <= WIDTH


def test_bars_are_as_long_as_their_numbers():
    widths = coordinates(draw(bar_chart("b", "title", [("a", 50), ("b", 100), ("c", 0)])), "width")
    assert widths[0] == pytest.approx(widths[1] / 2, abs=0.1)
    assert widths[2] == 0


def test_agreement_lies_on_the_line_where_the_two_are_equal():
    chart = draw(agreement_chart("c", "title", [(0.0, Point(0, 0, 0.1)), (1.0, Point(1, 0.9, 1))], "x"))
    line = re.search(r'x1="([\d.]+)" y1="([\d.]+)" x2="([\d.]+)" y2="([\d.]+)" class="equal"', chart)
    ends = [float(each) for each in line.groups()]
    assert list(zip(coordinates(chart, "cx"), coordinates(chart, "cy"), strict=True)) == [
        tuple(ends[:2]),
        tuple(ends[2:]),
    ]


def test_long_labels_are_cut_in_the_drawing_and_whole_in_words():
    label = "x" * 100
    chart = draw(bar_chart("b", "title", [(label, 1)]))
    assert f"{label}: 1" in chart
    assert all(len(text) < 50 for text in re.findall(r"<text[^>]*>([^<]*)<", chart))
