"""Models on disk: what goes in comes out, and what is not understood is refused."""

import json
import pickle

import equinox as eqx
import jax
import numpy as np
import pytest

import armwise as aw
from armwise.data import Features
from armwise.models import Linear, MultiLayerPerceptron, average_models
from armwise.training import SavedModel, TrainConfig, load_model, save_model
from tests.training.mutations import mutated

FEATURES = Features(numeric=np.ones((3, 2)), codes=[[0, 1], [1, 2], [0, 0]], levels=(2, 3))
PROBLEM = aw.Problem(rewards=[0.0, 0.25, 1.0], discount=0.8, initial=[0.1, 0.2, 0.7])
LOSSES = [
    aw.MeanSquaredError(),
    aw.SimDFL(7, temperature=0.3),
    aw.PriceDFL(0.2, budget_multiples=(1.0, 3.0)) + 2.0 * aw.MeanSquaredError(),
    0.9 * aw.DecDFL(aw.EntropyMixture(0.25), policies="threshold") + 0.1 * aw.NegativeLogLikelihood(),
    aw.DecDFL(aw.QuadraticMixture(0.5), constraint="predicted"),
    aw.WarmStart(aw.MeanSquaredError(), aw.DecDFL(aw.EntropyMixture(0.5), budget_multiple=2.0), share=0.25, rate=0.1),
    aw.Annealed(aw.PriceDFL(1.0, unit="spread"), aw.PriceDFL(0.1, unit="spread")),
]


def saved(model=None, loss=LOSSES[0], **changes):
    model = Linear(jax.random.key(0), FEATURES, 3) if model is None else model
    everything = {
        "features": {"columns": ["age", "language"]},
        "data": "abc",
        "metrics": {"validation_loss": 0.25, "joint": np.float32(0.5)},
    }
    return SavedModel(model, PROBLEM, loss, TrainConfig(num_epochs=3, quality="joint"), **everything | changes)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_what_was_saved_is_loaded(tmp_path, loss):
    save_model(tmp_path / "m", saved(loss=loss))
    back = load_model(tmp_path / "m")
    assert eqx.tree_equal(back.model, saved().model)
    assert jax.tree.all(jax.tree.map(lambda one, two: bool((one == two).all()), back.problem, PROBLEM))
    assert eqx.tree_equal(back.loss, loss)
    assert back.config == TrainConfig(num_epochs=3, quality="joint")
    assert (back.features, back.data) == ({"columns": ["age", "language"]}, "abc")
    assert back.metrics == {"validation_loss": 0.25, "joint": 0.5}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("depth", [1, 3])
def test_networks_predict_the_same_after_loading(tmp_path, depth, dtype):
    model = MultiLayerPerceptron(jax.random.key(1), FEATURES, 3, width=5, depth=depth)
    model = jax.tree.map(lambda leaf: leaf.astype(dtype), model)
    save_model(tmp_path / "m", saved(model))
    back = load_model(tmp_path / "m").model
    assert back.layer.bias.dtype == dtype
    np.testing.assert_array_equal(back(FEATURES), model(FEATURES))


def test_an_ensemble_predicts_the_same_after_loading(tmp_path):
    keys = jax.random.split(jax.random.key(1), 3)
    model = average_models([MultiLayerPerceptron(key, FEATURES, 3, width=5) for key in keys])
    save_model(tmp_path / "m", saved(model))
    np.testing.assert_array_equal(load_model(tmp_path / "m").model(FEATURES), model(FEATURES))
    path = tmp_path / "m" / "model.json"
    page = json.loads(path.read_text())
    for damage in ({"number": 0}, {"number": "3"}, {"number": True}, {"extra": 1}, {"member": None}, {"number": 2}):
        path.write_text(json.dumps(page | {"model": page["model"] | damage}))
        with pytest.raises(aw.InvalidInputError, match=r"Ensemble|which armwise does not know|expected"):
            load_model(tmp_path / "m")


def test_an_ensemble_of_models_of_ones_own_is_loaded_with_one_like_it(tmp_path):
    class Own(eqx.Module):
        logits: jax.Array
        activation: object = jax.nn.relu

    model = average_models([Own(jax.numpy.arange(3.0)), Own(jax.numpy.ones(3))])
    save_model(tmp_path / "m", saved(model))
    back = load_model(tmp_path / "m", like=average_models([Own(jax.numpy.zeros(3))] * 2)).model
    np.testing.assert_array_equal(back.members.logits, model.members.logits)


def test_a_model_of_ones_own_is_loaded_with_one_like_it(tmp_path):
    class Own(eqx.Module):
        logits: jax.Array

    save_model(tmp_path / "m", saved(Own(jax.numpy.arange(3.0))))
    with pytest.raises(aw.InvalidInputError, match=r"'Own', which armwise does not know. Pass like="):
        load_model(tmp_path / "m")
    np.testing.assert_array_equal(load_model(tmp_path / "m", like=Own(jax.numpy.zeros(3))).model.logits, np.arange(3.0))


def test_the_folder_is_readable_and_holds_no_pickle(tmp_path):
    save_model(tmp_path / "m", saved())
    assert sorted(path.name for path in (tmp_path / "m").iterdir()) == ["model.json", "weights.npz"]
    page = json.loads((tmp_path / "m" / "model.json").read_text())
    assert page["model"]["levels"] == [2, 3]
    assert page["problem"]["discount"] == pytest.approx(0.8)
    with np.load(tmp_path / "m" / "weights.npz", allow_pickle=False) as weights:
        assert sorted(weights.files) == ["layer.bias", "layer.table", "layer.weights"]


def test_nothing_is_left_of_a_folder_that_could_not_be_written(tmp_path):
    with pytest.raises(TypeError):
        save_model(tmp_path / "m", saved(features=object()))
    assert list(tmp_path.iterdir()) == []
    save_model(tmp_path / "m", saved())
    with pytest.raises(aw.OutputError, match="exists already"):
        save_model(tmp_path / "m", saved())


def change(page, *path_and_value):
    *path, last, value = path_and_value
    for name in path:
        page = page[name]
    if value is None:
        del page[last]
    else:
        page[last] = value


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (("format", "other"), "does not describe an armwise model"),
        (("version", 99), "version 99"),
        (("extra", 1), "unknown entries: extra"),
        (("loss", None), "missing or unknown entries: loss"),
        (("loss", "kind", "os.system"), "'os.system' is no loss"),
        (("loss", "extra", 3), "MeanSquaredError has missing or unknown entries: extra"),
        (("config", "speed", 9), "TrainConfig has missing or unknown entries: speed"),
        (("config", "learning_rate", -1.0), "learning_rate"),
        (("problem", "discount", 1.5), "discount"),
        (("problem", "rewards", None), "Problem has missing or unknown entries: rewards"),
        (("model", "kind", "Oracle"), "'Oracle', which armwise does not know"),
        (("model", "num_states", 4), "expected float64"),
        (("model", "depth", 4), "not one of a Linear"),
        (("model", "levels", None), "not one of a Linear"),
        (("weights", "0" * 64), "not the file that model.json speaks of"),
    ],
)
def test_what_is_not_understood_is_refused(tmp_path, changes, message):
    save_model(tmp_path / "m", saved())
    path = tmp_path / "m" / "model.json"
    page = json.loads(path.read_text())
    change(page, *changes)
    path.write_text(json.dumps(page))
    with pytest.raises(aw.InvalidInputError, match=message):
        load_model(tmp_path / "m")


def test_options_younger_than_the_file_get_their_defaults(tmp_path):
    save_model(tmp_path / "m", saved(loss=aw.DecDFL(aw.EntropyMixture(0.1), policies="threshold")))
    path = tmp_path / "m" / "model.json"
    page = json.loads(path.read_text())
    for part, name in (("config", "validate_every"), ("loss", "unit"), ("loss", "budget_multiple")):
        del page[part][name]
    path.write_text(json.dumps(page))
    again = load_model(tmp_path / "m")
    assert (again.loss.unit, again.loss.budget_multiple, again.loss.policies) == ("return", 1.0, "threshold")
    del page["loss"]["mixture"]
    path.write_text(json.dumps(page))
    with pytest.raises(aw.InvalidInputError, match="missing or unknown entries: mixture"):
        load_model(tmp_path / "m")


def test_damaged_or_foreign_files_are_refused(tmp_path):
    with pytest.raises(aw.InvalidInputError, match="cannot be read"):
        load_model(tmp_path)
    save_model(tmp_path / "m", saved())
    (tmp_path / "m" / "weights.npz").write_bytes(pickle.dumps(saved().problem.rewards.tolist()))
    with pytest.raises(aw.InvalidInputError, match=r"not the file that model.json speaks of"):
        load_model(tmp_path / "m")
    (tmp_path / "m" / "model.json").write_text("{")
    with pytest.raises(aw.InvalidInputError, match="cannot be read"):
        load_model(tmp_path / "m")


def test_changed_descriptions_are_refused_or_right(tmp_path):
    try_changes(tmp_path, seed=1, number=100)


def try_changes(folder, seed, number):
    """Load models with random changes in ``model.json``; whatever is wrong is one kind of error that names the file."""
    pages = []
    for place, loss in enumerate(LOSSES):
        save_model(folder / str(place), saved(loss=loss))
        pages.append(json.loads((folder / str(place) / "model.json").read_text()))
    said = []
    for trial in range(number):
        place, rng = trial % len(LOSSES), np.random.default_rng([seed, trial])
        path = folder / str(place) / "model.json"
        path.write_text(json.dumps(mutated(pages[place], rng)))
        try:
            load_model(path.parent)
        except aw.InvalidInputError as error:
            said.append(str(error))
    assert [each for each in said if str(folder) not in each] == []
    assert len(said) > 0.75 * number
