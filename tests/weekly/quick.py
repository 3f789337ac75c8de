"""The sample programme with a model that learned for a moment: what tests of the weekly job on files start from."""

import tempfile
from functools import cache
from pathlib import Path

import jax

import armwise as aw
from armwise.programme import load_programme
from armwise.programme.sample import sample_programme
from armwise.weekly.fit import MODEL_FILE, make_planner, table_of

NUM_PEOPLE = 120


@cache
def quick_files(num_people: int = NUM_PEOPLE) -> dict[str, str]:
    """The sample's files, by default for fewer people than 'armwise init' writes."""
    return sample_programme(0, num_people=num_people).contents


@cache
def _model(num_people: int) -> bytes:
    # In single precision, as the command line learns and reads it.
    with tempfile.TemporaryDirectory() as folder, jax.enable_x64(False):
        _write(Path(folder), num_people)
        data = load_programme(Path(folder) / "programme.toml")
        planner = make_planner(data, 0, "linear")
        planner.set_params(loss=aw.MeanSquaredError(), config=aw.TrainConfig(num_epochs=1))
        planner.fit(table_of(data), data.trajectories).save(Path(folder) / MODEL_FILE)
        return (Path(folder) / MODEL_FILE).read_bytes()


def _write(folder: Path, num_people: int) -> None:
    for name, text in quick_files(num_people).items():
        (folder / name).write_text(text, encoding="utf-8")


def write_quick_programme(folder: Path, num_people: int = NUM_PEOPLE) -> Path:
    """Write the files and the model into a folder, and return the path of programme.toml."""
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder, num_people)
    (folder / MODEL_FILE).write_bytes(_model(num_people))
    return folder / "programme.toml"


def quick_programme(folder: Path) -> Path:
    """The same for as many people as 'armwise init' writes."""
    return write_quick_programme(folder, 300)
