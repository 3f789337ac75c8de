"""Domains by name, and domains as files."""

import equinox as eqx
import numpy as np
import pytest

from armwise.errors import InvalidInputError
from reproduction.runs.domains import available_domains, load_domain, make_domain, save_domain
from tests.reproduction.small import small_domain

SMALL = {"num_cohorts": 5, "num_arms": 4, "budget": 1, "width": 8}


@pytest.mark.parametrize("name", ["synthetic-2", "mmitra_like"])
def test_a_domain_survives_its_file(name, tmp_path):
    knobs = SMALL if name == "synthetic-2" else {"num_people": 200, "size": 20}
    domain = make_domain(name, **knobs)
    save_domain(tmp_path / "new" / "domain.npz", domain)
    again = load_domain(tmp_path / "new" / "domain.npz")
    assert eqx.tree_equal(again, domain)


def test_a_file_without_behaviour_is_a_domain_without_it(tmp_path):
    save_domain(tmp_path / "domain.npz", make_domain("synthetic-2", **SMALL)._replace(behaviour=None))
    assert load_domain(tmp_path / "domain.npz").behaviour is None


def test_the_file_needs_no_pickle(tmp_path):
    save_domain(tmp_path / "domain.npz", small_domain())
    with np.load(tmp_path / "domain.npz", allow_pickle=False) as file:
        assert all(file[name].dtype != object for name in file.files)


def test_other_files_are_refused(tmp_path):
    (tmp_path / "text.npz").write_text("no arrays")
    np.savez(tmp_path / "arrays.npz", format=np.array("other"))
    for name in ("text.npz", "arrays.npz", "absent.npz"):
        with pytest.raises(InvalidInputError, match=f"{name} is not a domain that armwise wrote"):
            load_domain(tmp_path / name)


def test_the_first_state_can_be_chosen():
    domain = make_domain("synthetic-2", initial=[1.0, 0.0], **SMALL)
    assert domain.problem.initial.tolist() == [1, 0]
    assert eqx.tree_equal(domain.cohorts, make_domain("synthetic-2", **SMALL).cohorts)


def test_unknown_domains_are_refused_by_name():
    with pytest.raises(InvalidInputError, match="no domain 'mmitra'; there are mmitra_like, oulad"):
        make_domain("mmitra")


def test_public_data_that_are_not_there_are_named(tmp_path):
    with pytest.raises(InvalidInputError, match=r"no folder .*oulad.*--data"):
        make_domain("oulad", tmp_path)
    assert available_domains(tmp_path) == ["mmitra_like", "synthetic-2", "synthetic-5"]
    (tmp_path / "oulad").mkdir()
    assert "oulad" in available_domains(tmp_path)
