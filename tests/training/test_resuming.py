"""Interrupted at any moment, training goes on from its last checkpoint and ends in the same weights, to the bit."""

import functools
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest

import armwise as aw
from armwise.data import synthetic
from armwise.models import Linear
from armwise.training import TrainConfig, train
from armwise.training.checkpoint import Checkpoints, fingerprint, load_arrays, save_arrays

SCRIPT = """
import sys
import jax, numpy as np
import armwise as aw
from armwise.data import synthetic
from armwise.models import Linear
from armwise.training import TrainConfig, train_many

domain = synthetic(4, num_cohorts=10, num_arms=10, budget=2, width=20, num_layers=3)
runs = train_many(
    jax.random.key(0),
    domain.cohorts,
    [aw.DecDFL(aw.EntropyMixture(temperature)) for temperature in (1.0, 0.1)],
    lambda key: Linear(key, domain.cohorts.features, 2),
    TrainConfig(num_epochs=30, block_size=1),
    splits=[domain.split_numbers(seed) for seed in range(2)],
    problem=domain.problem,
    chunk_size=2,
    folder=sys.argv[1],
)
np.savez(sys.argv[2], **dict(zip("abcdefg", jax.tree.leaves((runs.models, runs.best_epoch, runs.history)))))
"""


def start(folder, out):
    return subprocess.Popen([sys.executable, "-c", SCRIPT, str(folder), str(out)])


def checkpoints_in(folder):
    return {path: path.stat().st_mtime_ns for path in Path(folder).glob("*.npz")}


def test_killed_at_any_moment_it_ends_in_the_same_weights(tmp_path):
    assert start(tmp_path / "whole", tmp_path / "whole.npz").wait(300) == 0
    kills = 0
    for moment in (0.0, 0.05, 0.02):  # seconds after a new checkpoint: during the next block, or its writing
        before = checkpoints_in(tmp_path / "parts") if (tmp_path / "parts").exists() else {}
        process = start(tmp_path / "parts", tmp_path / "parts.npz")
        while process.poll() is None and checkpoints_in(tmp_path / "parts") == before:
            time.sleep(0.001)
        time.sleep(moment)
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
        assert not (tmp_path / "parts.npz").exists()
    assert kills == 3
    assert start(tmp_path / "parts", tmp_path / "parts.npz").wait(300) == 0
    with np.load(tmp_path / "whole.npz") as whole, np.load(tmp_path / "parts.npz") as parts:
        assert set(whole.files) == set(parts.files) == set("abcdefg")
        for name in whole.files:
            np.testing.assert_array_equal(whole[name], parts[name])


@pytest.fixture(scope="module")
def domain():
    return synthetic(4, num_cohorts=5, num_arms=10, budget=2, width=20, num_layers=3)


def run(domain, folder, loss=None, **changes):
    model = Linear(jax.random.key(0), domain.cohorts.features, 2)
    settings = TrainConfig(num_epochs=6, block_size=2, **changes)
    given = {"problem": domain.problem, "folder": folder}
    return train(jax.random.key(0), domain.split(0), loss or aw.MeanSquaredError(), model, settings, **given)


def test_an_interrupted_run_goes_on_from_its_checkpoint(domain, tmp_path, monkeypatch):
    whole = run(domain, tmp_path / "whole")
    save, calls = Checkpoints.save, []

    def interrupted(self, name, tree):
        save(self, name, tree)
        calls.append(name)
        if len(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoints, "save", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(domain, tmp_path / "parts")
    again = run(domain, tmp_path / "parts")
    assert len(calls) == 3, "two of three blocks were there already"
    for one, other in zip(*map(jax.tree.leaves, (whole, again)), strict=True):
        np.testing.assert_array_equal(one, other)
    run(domain, tmp_path / "parts")
    assert len(calls) == 3, "a finished run is not run again"


def test_checkpoints_of_other_work_are_refused(domain, tmp_path):
    run(domain, tmp_path / "one")
    with pytest.raises(aw.InvalidInputError, match="another training"):
        run(domain, tmp_path / "one", learning_rate=0.5)
    with pytest.raises(aw.InvalidInputError, match="another training"):
        run(domain, tmp_path / "one", loss=aw.NegativeLogLikelihood())
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear.txt").write_text("Dear reader")
    with pytest.raises(aw.InvalidInputError, match="holds other files"):
        run(domain, tmp_path / "letters")
    (tmp_path / "one" / "training.json").write_text("{")
    with pytest.raises(aw.InvalidInputError, match="cannot be read"):
        run(domain, tmp_path / "one")


def test_damaged_arrays_are_refused(tmp_path):
    path, tree = tmp_path / "a.npz", {"x": np.arange(3.0), "key": jax.random.key(3)}
    save_arrays(path, tree)
    back = load_arrays(path, tree)
    np.testing.assert_array_equal(back["x"], tree["x"])
    assert back["key"] == tree["key"]
    for like, message in (
        ({"x": np.arange(4.0), "key": tree["key"]}, r"x is float64\[3\], expected float64\[4\]"),
        ({"x": np.arange(3), "key": tree["key"]}, "expected int64"),
        ({"y": np.arange(3.0), "key": tree["key"]}, "x, y missing or unknown"),
    ):
        with pytest.raises(aw.InvalidInputError, match=message):
            load_arrays(path, like)
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(aw.InvalidInputError, match="damaged"):
        load_arrays(path, tree)
    np.savez(path, x=np.array([object()]), key=np.zeros(2))
    with pytest.raises(aw.InvalidInputError, match="not a file of arrays"):
        load_arrays(path, tree)


def test_a_fingerprint_sees_every_change():
    base = (np.arange(3.0), {"a": 1}, aw.MeanSquaredError())
    others = [
        (np.arange(4.0), {"a": 1}, aw.MeanSquaredError()),
        (np.arange(3), {"a": 1}, aw.MeanSquaredError()),
        (np.arange(3.0), {"a": 2}, aw.MeanSquaredError()),
        (np.arange(3.0), {"b": 1}, aw.MeanSquaredError()),
        (np.arange(3.0), {"a": 1}, aw.NegativeLogLikelihood()),
    ]
    assert len({fingerprint(*parts) for parts in [base, *others]}) == 6
    assert fingerprint(*base) == fingerprint(np.arange(3.0), {"a": 1}, aw.MeanSquaredError())


def test_a_model_that_holds_a_function_is_known_again_in_another_process():
    script = (
        "import equinox as eqx, jax; from armwise.training.checkpoint import fingerprint; "
        "print(fingerprint(eqx.nn.MLP(2, 2, 4, 1, jax.nn.{}, key=jax.random.key(0))))"
    )
    runs = [
        subprocess.run([sys.executable, "-c", script.format(name)], check=True, capture_output=True, text=True).stdout
        for name in ("tanh", "tanh", "relu")
    ]
    assert runs[0] == runs[1] != runs[2]


def scaled(factor):
    return lambda x: factor * x


def test_functions_of_one_name_are_told_apart():
    functions = [lambda x: x + x, lambda x: x * x, lambda x: x + 1, lambda x: x + 2, lambda x, y=1: x, lambda x, y=2: x]
    functions += [scaled(1), scaled(2), jax.jit(scaled(1)), jax.jit(scaled(2)), str.upper, str.lower]
    functions += [functools.partial(max, 1), functools.partial(max, 2), [].append, {}.get, np.tanh, jax.nn.tanh]
    assert len({fingerprint(each) for each in functions}) == len(functions)
