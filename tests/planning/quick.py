"""The sample programme with a model learned in a second: what tests of the weekly job on files start from."""

from functools import cache
from pathlib import Path

import armwise as aw
from armwise.planning.check import load_programme
from armwise.planning.sample import sample_programme
from armwise.planning.weekly import MODEL_FILE, make_planner, table_of

NUM_PEOPLE = 120


@cache
def quick_files() -> dict[str, str]:
    """The sample's files, for fewer people."""
    return sample_programme(0, num_people=NUM_PEOPLE).contents


def write_quick_programme(folder: Path) -> Path:
    """Write the files and the model, and return the path of programme.toml."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in quick_files().items():
        (folder / name).write_text(text, encoding="utf-8")
    learned = folder / MODEL_FILE
    if not _learned:
        data = load_programme(folder / "programme.toml")
        planner = make_planner(data, 0, "linear").set_params(
            loss=aw.MeanSquaredError(), config=aw.TrainConfig(num_epochs=2)
        )
        planner.fit(table_of(data), data.trajectories).save(learned)
        _learned.append(learned.read_bytes())
    learned.write_bytes(_learned[0])
    return folder / "programme.toml"


# The model's bytes, once they are there.
_learned: list[bytes] = []
