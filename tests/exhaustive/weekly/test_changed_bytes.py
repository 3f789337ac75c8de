"""One byte is changed in a list, its manifest or a file it was made from: --verify notices, and nothing breaks."""

import random

import pytest

from armwise.errors import ArmwiseError
from armwise.weekly import plan_programme, verify_plan, write_plan
from tests.weekly.quick import quick_programme

NUM_CHANGES = 43  # of each file, 301 in all
FILES = (
    "call-list.csv",
    "manifest",
    "programme.toml",
    "beneficiaries.csv",
    "engagement.csv",
    "interventions.csv",
    "model.armwise",
)


def change(content: bytes, chance: random.Random) -> bytes:
    """The content with one byte replaced, removed or added."""
    place, byte = chance.randrange(len(content)), bytes([chance.randrange(256)])
    how = chance.choice(["replace", "replace", "remove", "add"])
    if how == "replace":
        byte = bytes([content[place] ^ chance.randrange(1, 256)])
    return content[:place] + (b"" if how == "remove" else byte) + content[place + (how != "add") :]


def is_noticed(programme, output) -> bool:
    """Whether the change is refused, with one of armwise's own errors, or found; any other error fails the test."""
    try:
        return not verify_plan(programme, output).holds
    except ArmwiseError:
        return True


@pytest.mark.parametrize("name", FILES)
def test_every_change_is_noticed(tmp_path, name):
    programme = quick_programme(tmp_path)
    output = tmp_path / "call-list.csv"
    manifest = write_plan(plan_programme(programme), output)
    path = manifest if name == "manifest" else tmp_path / name
    whole, chance = path.read_bytes(), random.Random(f"{name} 7")
    for number in range(NUM_CHANGES):
        changed = change(whole, chance)
        if changed == whole:
            continue
        path.write_bytes(changed)
        assert is_noticed(programme, output), (number, changed)
    path.write_bytes(whole)
    assert verify_plan(programme, output).holds
