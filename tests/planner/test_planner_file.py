"""Planners' files: what is not one is refused in one sentence, within limits, and leaves nothing behind."""

import json
import tempfile
import tracemalloc

import numpy as np
import pytest

import armwise as aw
from armwise.errors import ConvergenceError, InvalidInputError
from armwise.training import untrusted
from tests.planner.crafted import CHAINS, CRAFTED, MODEL, PAGE, WEIGHTS, parts_of, zipped
from tests.planner.outreach import columns, known_people, small
from tests.training.mutations import mutated

# One or two of each idea; all of them are in tests/exhaustive.
CHOSEN = (
    *("empty", "text", "an encrypted zip", "compressed", "parts that overlap", "half"),
    *("one part more", "the page twice", "without the weights", "a size of four gigabytes", "a wrong checksum"),
    *("planner.json: a deep list", "model.json: a deep object", "model.json: a number of a million digits"),
    *("model.json: no UTF-8", "a page with more", "unknown parameters", "unknown keys of the config", "deep losses"),
    *("a count that is negative", "a count that is huge", "a seed that is text", "ragged counts", "no counts"),
    *("num_states that is huge", "numeric that is huge", "a network of no end", "a network too wide"),
    *("an ensemble of ensembles", "levels without end", "minus three people", "rewards of NaN", "cuts beyond a float"),
    *("half a letter", "weights of objects", "weights of a terabyte", "weights by a call", "weights of NaN"),
    *("version 1", "no gains", "gains of other states", "gains although there were no calls", "a gain that is NaN"),
    *("a gain that is huge", "a covariance below 0", "an effect outside its interval", "a level that there is not"),
    *("an effect in a state that there is not", "an effect in a state that is text", "confidence of 2"),
    *("compressed weights", "columns of another model", "weights twice"),
)


@pytest.fixture(scope="module", params=[small, known_people], ids=["a network", "chains"])
def case(request):
    """People with a planner that learned a model of features, and one that learned their chains."""
    return request.param()


@pytest.fixture(scope="module")
def parts(case, tmp_path_factory):
    path = tmp_path_factory.mktemp("planner") / "model.armwise"
    case.planner.save(path)
    return parts_of(path.read_bytes())


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize("name", CHOSEN)
def test_a_crafted_model_is_refused_in_one_sentence(parts, tmp_path, empty_folder, name):
    path = tmp_path / "model.armwise"
    path.write_bytes(CRAFTED[name](parts))
    with pytest.raises(InvalidInputError, match=r"of this armwise|than this armwise") as caught:
        aw.OutreachPlanner.load(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert message.count(str(tmp_path)) == 1
    assert len(message) < 600
    assert message.isprintable()
    assert list(empty_folder.iterdir()) == []
    assert sorted(each.name for each in tmp_path.iterdir()) == ["model.armwise", "temporary"]


@pytest.mark.parametrize("name", CHAINS)
def test_a_crafted_model_of_chains_is_refused_in_one_sentence(tmp_path, name):
    path = tmp_path / "model.armwise"
    known_people().planner.save(path)
    path.write_bytes(CHAINS[name](parts_of(path.read_bytes())))
    with pytest.raises(InvalidInputError, match="of this armwise") as caught:
        aw.OutreachPlanner.load(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert len(message) < 600
    assert message.isprintable()


@pytest.mark.parametrize("part", [PAGE, MODEL, WEIGHTS])
def test_a_part_that_swells_is_refused_before_it_is_inflated(parts, tmp_path, part):
    path = tmp_path / "model.armwise"
    path.write_bytes(zipped(parts | {part: bytes(2**24)}, compression=8))
    tracemalloc.start()
    with pytest.raises(InvalidInputError, match="compressed"):
        aw.OutreachPlanner.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**22


def test_a_file_of_any_size_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "model.armwise"
    with path.open("wb") as stream:
        stream.truncate(untrusted.MOST_BYTES + 1)
    with pytest.raises(InvalidInputError, match=r"model.armwise cannot be read: It is larger than 268,435,456 bytes"):
        aw.OutreachPlanner.load(path)


def test_a_model_that_cannot_be_read_is_not_called_damaged(tmp_path, monkeypatch):
    path = tmp_path / "model.armwise"
    path.write_bytes(b"whatever")

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(untrusted, "read_file", refuse)  # root may read anything
    with pytest.raises(InvalidInputError, match=r"model.armwise cannot be read: Permission denied. Check") as caught:
        aw.OutreachPlanner.load(path)
    assert "damaged" not in str(caught.value)


def test_an_older_planner_is_to_be_fitted_again(parts, tmp_path):
    (tmp_path / "old").write_bytes(CRAFTED["version 1"](parts))
    with pytest.raises(
        InvalidInputError, match=r"of version 1, and this armwise reads version 2.*fit again: armwise fit"
    ):
        aw.OutreachPlanner.load(tmp_path / "old")


def test_gains_come_back_to_the_last_digit(tmp_path):
    for case in (small(), small(num_states=3)):
        case.planner.save(tmp_path / "m")
        ours, kept = case.planner.call_gains_, aw.OutreachPlanner.load(tmp_path / "m").call_gains_
        for name in ("gains", "covariance", "levels"):
            assert getattr(ours, name).tobytes() == getattr(kept, name).tobytes()
        assert ours.effects == kept.effects


def test_changed_pages_are_refused_or_plan(case, parts, tmp_path):
    try_changes(case, parts, tmp_path, seed=1, number=60)


def try_changes(case, parts, folder, seed, number):
    """Load planners with random changes in their pages; those that are accepted must plan."""
    path, said = folder / "model.armwise", []
    for trial in range(number):
        rng = np.random.default_rng([seed, trial])
        part = (PAGE, MODEL)[trial % 2]
        path.write_bytes(zipped(parts | {part: json.dumps(mutated(json.loads(parts[part]), rng)).encode()}))
        try:
            planner = aw.OutreachPlanner.load(path)
            planner.plan(case.people, case.weeks, budget=9, **columns())
        except InvalidInputError as error:
            said.append(str(error))
        except ConvergenceError:
            # Numbers that are finite, and too large to plan with: the person is named, and nothing is planned.
            continue
    assert [each for each in said if str(path) not in each and "column" not in each] == []
    assert len(said) > number / 2
