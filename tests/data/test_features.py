import jax
import numpy as np
import pytest

from armwise.data import Features, one_hot
from armwise.errors import InvalidInputError


def test_one_hot_marks_one_level_in_each_category(rng):
    numeric, codes = rng.standard_normal((3, 5, 2)), rng.integers(0, 3, size=(3, 5, 2))
    features = Features(numeric, codes, levels=(3, 4))
    dense = np.asarray(one_hot(features))
    assert dense.shape == (3, 5, features.width) == (3, 5, 9)
    for cohort, arm in np.ndindex(3, 5):
        expected = [*numeric[cohort, arm], *np.eye(3)[codes[cohort, arm, 0]], *np.eye(4)[codes[cohort, arm, 1]]]
        assert dense[cohort, arm].tolist() == expected


def test_either_kind_of_column_may_be_absent():
    assert one_hot(Features(numeric=[[1.0, 2.0]])).tolist() == [[1.0, 2.0]]
    assert one_hot(Features(codes=[[1], [0]], levels=(2,))).tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert Features(numeric=np.zeros((4, 0))).width == 0


def test_rows_are_taken_together():
    features = Features([[0.0], [1.0], [2.0]], [[0], [1], [1]], levels=(2,))[np.array([2, 0])]
    assert features.numeric.tolist() == [[2.0], [0.0]]
    assert features.codes.tolist() == [[1], [0]]


def test_features_pass_through_jit_and_vmap(rng):
    features = Features(rng.standard_normal((2, 3, 1)), rng.integers(0, 2, size=(2, 3, 2)), levels=(2, 2))
    batched = jax.jit(jax.vmap(one_hot))(features)
    np.testing.assert_array_equal(batched, one_hot(features))


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"codes": [[0, 2]], "levels": (2, 2)}, r"below levels = \(2, 2\), but arm 0, column 1 has 2"),
        ({"codes": [[0, -1]], "levels": (2, 2)}, "arm 0, column 1 has -1"),
        ({"codes": [[0, 0.5]], "levels": (2, 2)}, "arm 0, column 1 has 0.5"),
        ({"codes": [[0, 1]], "levels": (2,)}, r"\[\*batch, arms, 1\]"),
        ({"codes": [[0]], "levels": (0,)}, r"levels\[0\] must be at least 1"),
        ({"numeric": [[np.nan]]}, "arm 0, column 0 has nan"),
        ({"numeric": [1.0]}, r"\[\*batch, arms, columns\]"),
        ({"numeric": [[1.0]], "codes": [[0], [1]], "levels": (2,)}, r"codes must have the shape \[1\]"),
        ({}, "neither"),
    ],
)
def test_malformed_features_are_refused(arguments, part):
    with pytest.raises(InvalidInputError, match=part):
        Features(**arguments)


@pytest.mark.parametrize("given", ["uint8", "uint16", "int64"])
@pytest.mark.parametrize(("kept", "most"), [("uint8", 4), ("uint8", 256), ("uint16", 257), ("uint32", 70_000)])
def test_codes_take_as_few_bytes_as_their_levels_need(kept, most, given):
    codes = np.array([[0, 3], [1, 0]], given)
    features = Features(codes=codes, levels=(2, most))
    assert features.codes.dtype == kept
    np.testing.assert_array_equal(features.codes, codes)
    with pytest.raises(InvalidInputError, match="arm 0, column 1 has 3"):
        Features(codes=codes, levels=(2, 3))
