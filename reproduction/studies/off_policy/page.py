"""The page on off-policy values, written from results alone."""

from pathlib import Path

from reproduction.markdown import markdown, read_rows

Lines = list[dict[str, str]]

HEAD = """# Would another choice have done better?

<!-- Written by `python -m reproduction off-policy page` from results/off-policy/*.csv. Change the text there. -->

A simulation can only tell what its own assumptions lead to. Where calls were made **by lot**, the log itself can
answer: some people got, by chance, the call that another way of choosing would have given them.
`aw.off_policy_value` weights these decisions so that they stand for all of them.

```python
value = aw.off_policy_value(history, policy, propensities=0.05)  # 5 % of people were called each week, by lot
print(value)
value.doubly_robust.difference.low, value.doubly_robust.difference.high
```

- `history`: who was in which state, and who was called. `policy`: the probability with which the way of choosing
  would have called each person in each week. `propensities`: the probability with which the log did what it did.
- **Value**: the average outcome of a decision (by default: the share of people engaged in the next week) if the
  policy had made each decision on its own. It says nothing about effects that add up over many weeks.
- **Difference**: the same, less that of a random choice of equally many calls. This is the question that matters: a
  policy that cannot beat a lottery is not worth its model.
- Three estimators, from plain to careful: inverse probability, self-normalised, doubly robust. The docstring has
  the formulas.
- The policy must have been made without the outcomes of the people it is valued on.

If calls were not made by lot, there are no propensities, and nothing on this page applies."""

COVERAGE = """## Are the intervals right?

A 95 % interval should hold the truth in 95 of 100 programmes. We simulated {programmes:,} programmes of each kind;
in them the truth is known exactly. People differ persistently, a call helps the disengaged and sometimes hurts,
10 % of weeks are not observed; 200 people are followed for 10 weeks. "37 people" has 150 decisions each and calls
in 60 % of them, as HeartSteps has.

Share of 95 % intervals that hold the truth, in %:

{table}

{verdict} By chance alone, {programmes:,} programmes with a true coverage of 95 % show less than 93.6 or more than
96.4 % in one cell of 20.

How we got there: two earlier forms had one share of 36 outside, each on programmes of its own. With an outcome
model that was hardly shrunk, a doubly robust difference was covered in 97.2 % (seed 0). With more shrinkage and an
interval of two separate tails, an inverse-probability value was covered in 92.9 % (seed 1). We then chose the
symmetric interval, by its coverage on the programmes of seed 0. The table is from new programmes (seed 2), run
once.

Median width of the interval of the difference, in percentage points:

{widths}

The doubly robust estimate has the narrowest intervals in every kind. Read that one first."""

HEARTSTEPS = """## HeartSteps: which suggestions to send

37 people got suggestions to walk, each sent with probability 0.6 whenever the person was available ({decisions:,}
decisions with known steps). Outcome: more than 0, or more than 250, steps in the next half hour. armwise learned
from the intake questionnaires and decisions of four fifths of the people (a linear model, `recommended_loss()`) and
chose for the other fifth; five times, so that it chose for everyone. Each way of choosing sends the same share of
suggestions in each fifth. Doubly robust estimates; difference to sending the same number at random, in percentage
points, with 95 % intervals. The first line of each block is the average effect: everyone less no one. Steps are
missing about as often after a suggestion (12.2 %) as without one (11.6 %).

{table}

Which people are together in a fifth is chance, and armwise's choice depends on it. The choice by index again, for
{divisions} divisions (the first is that of the table above); difference to random, with its interval:

{by_division}

The sign changes from division to division: what armwise learns from 30 people is mostly chance, and so is the
difference to random in the table above. The same holds for small changes in how it is trained."""

CTN = """## CTN-0094: whom to give which treatment

In each of three trials of treatment for opioid use disorder, a person was given one of two treatments by lot, once.
So there is one decision for each person, and the outcome is the share of scheduled weeks in which she came. The
later weeks are no new lots, and we do not treat them as such. Propensity: the trial's own share of each treatment
(CTN-0027: 529 of 1,269 methadone), which does not differ noticeably between sites. In CTN-0027 the share was
changed during the trial, and the files do not say when each person entered. So an assumption remains there: that
people who entered early and late are alike. armwise learned from intake data and weeks of the other people, as
above. Nobody's state is known at the start, so the index is averaged over first states. In CTN-0030 the first
phase, which this is, had no fixed length: it lasted 1 to 14 weeks.

{table}"""

LIMITS = """## What may be said, and what may not

{summary}

- An interval that holds 0 does not show that choosing is useless. It shows which gains and losses are compatible
  with the data: anything between its ends.
- There are {comparisons} comparisons of armwise with random choice on this page. If all of them were truly 0, about
  one in 20 intervals would still exclude 0. One or two that do are a hint, no proof; and ranks by index and by
  predicted effect are nearly the same choice, so they count once.
- The intervals hold the choices fixed. Another division of the people into fifths gives other choices.
- All this is about the present planner, which knows intake data and the present state, and not a person's own past.
- HeartSteps measures what follows half an hour later, CTN-0094 one choice of treatment. Neither is a weekly phone
  call.

Run it again with `python -m reproduction off-policy coverage heartsteps divisions ctn0094`."""


def write_page(results: Path, page: Path) -> None:
    """Write the page; it depends on the CSV files only."""
    page.write_text(make_page(results))


def make_page(results: Path) -> str:
    """The page's text."""
    coverage, heartsteps, ctn = (read_rows(results / f"{name}.csv") for name in ("coverage", "heartsteps", "ctn0094"))
    divisions = read_rows(results / "heartsteps-divisions.csv")
    parts = [
        HEAD,
        _coverage(coverage),
        _heartsteps(heartsteps, divisions),
        CTN.format(table=_choices(ctn)),
        _limits(heartsteps, ctn),
    ]
    return "\n\n".join(parts) + "\n"


def _coverage(rows: Lines) -> str:
    shares = [float(row["covered"]) for row in rows]
    inside = sum(0.93 <= share <= 0.97 for share in shares)
    all_or_some = "All" if inside == len(shares) else f"{inside} of"
    span = f"{_percent(min(shares))} to {_percent(max(shares))} %"
    verdict = f"{all_or_some} {len(shares)} shares lie between 93 and 97 % ({span})."
    return COVERAGE.format(
        programmes=int(rows[0]["programmes"]),
        table=_by_world(rows, "covered", ("value", "difference")),
        widths=_by_world(rows, "median_width", ("difference",)),
        verdict=verdict,
    )


def _heartsteps(rows: Lines, again: Lines) -> str:
    names = list(dict.fromkeys(row["division"] for row in again))
    lines: dict[str, list[str]] = {}
    for row in again:
        key = f"{row['setting'].split(', ')[1]}, {float(row['share']):.0%}"
        lines.setdefault(key, [key]).append(_interval(row))
    table = markdown(["outcome, calls", *(f"division {int(name) + 1}" for name in names)], lines.values())
    decisions = int(rows[0]["decisions"])
    return HEARTSTEPS.format(decisions=decisions, table=_choices(rows), divisions=len(names), by_division=table)


def _interval(row: dict[str, str]) -> str:
    value, low, high = (_signed(float(row[f"doubly_robust_{part}"])) for part in _PARTS[1:])
    return f"{value} ({low} to {high})"


def _by_world(rows: Lines, column: str, quantities: tuple[str, ...]) -> str:
    names = list(dict.fromkeys(row["estimator"] for row in rows))
    keys = [(name, quantity) for name in names for quantity in quantities]
    header = ["programmes", *(f"{name.replace('_', ' ')}: {quantity}" for name, quantity in keys)]
    found = {(row["world"], row["estimator"], row["quantity"]): float(row[column]) for row in rows}
    worlds = dict.fromkeys(row["world"] for row in rows)
    return markdown(header, [[world, *(_percent(found[world, *key]) for key in keys)] for world in worlds])


def _choices(rows: Lines) -> str:
    header = ["way of choosing", "calls, %", "outcome, %", "difference to random", "95 % interval"]
    lines: list[list[object]] = []
    for row in rows:
        if row["way"] == "everyone":
            lines.append([f"**{row['setting']}**", "", "", "", ""])
        name = "everyone, less no one" if row["way"] == "everyone" else row["way"]
        value, *difference = (float(row[f"doubly_robust_{part}"]) for part in _PARTS)
        low_high = f"{_signed(difference[1])} to {_signed(difference[2])}"
        lines.append([name, f"{float(row['share']):.0%}"[:-1], _percent(value), _signed(difference[0]), low_high])
    return markdown(header, lines)


_PARTS = ("value_value", "difference_value", "difference_low", "difference_high")


def _limits(*tables: Lines) -> str:
    chosen = [row for rows in tables for row in rows if row["way"].startswith("armwise")]
    better = [row for row in chosen if float(row["doubly_robust_difference_low"]) > 0]
    worse = [row for row in chosen if float(row["doubly_robust_difference_high"]) < 0]
    summary = (
        f"**Does choosing by armwise beat random choice at the same budget?** In {len(chosen)} comparisons the "
        f"interval lies above 0 in {len(better)}{_named(better)}, below 0 in {len(worse)}{_named(worse)}, and holds 0 "
        f"in {len(chosen) - len(better) - len(worse)}."
    )
    return LIMITS.format(summary=summary, comparisons=len(chosen))


def _named(rows: Lines) -> str:
    if not rows:
        return ""
    names = [f"{row['setting']}, {row['way'].split(', ')[1]}, {float(row['share']):.0%}" for row in rows]
    return " (" + "; ".join(names) + ")"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _signed(difference: float) -> str:
    """In percentage points; an end of an interval next to 0 keeps its side of it."""
    digits = 1 if abs(difference) >= 0.0005 else 2
    return f"{100 * difference:+z.{digits}f}".replace("-", "−")
