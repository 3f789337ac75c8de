"""The sample programme with a model that learned for a moment only: what tests of the weekly job's files start from."""

import shutil
import tempfile
from functools import cache
from pathlib import Path

import armwise as aw
from armwise.planning import init_programme, load_programme
from armwise.planning.weekly import make_planner, table_of


@cache
def _files() -> dict[str, bytes]:
    folder = Path(tempfile.mkdtemp())
    path = init_programme(folder / "programme")[0]
    data = load_programme(path)
    planner = make_planner(data, 0, "linear")
    planner.set_params(loss=aw.MeanSquaredError(), config=aw.TrainConfig(num_epochs=1))
    planner.fit(table_of(data), data.trajectories).save(path.parent / "model.armwise")
    files = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    shutil.rmtree(folder)
    return files


def quick_programme(folder: Path) -> Path:
    """Write the programme and its model into a folder; returns the path of programme.toml."""
    for name, content in _files().items():
        (folder / name).write_bytes(content)
    return folder / "programme.toml"
