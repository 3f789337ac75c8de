"""scikit-learn's convention for parameters, without scikit-learn: the constructor's arguments, kept as they came."""

import inspect
from typing import Any

from armwise.errors import InvalidInputError


class Parameters:
    """A base for estimators: ``get_params`` and ``set_params``, so that scikit-learn's ``clone`` and searches work.

    A class that derives from it stores every argument of its constructor, unchanged, in an attribute of the same name.
    """

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 (scikit-learn passes it)
        """The parameters by name. None of them has parameters of its own, so ``deep`` changes nothing."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **parameters: Any) -> "Parameters":
        """Change parameters; takes effect at the next ``fit``."""
        known = self._names()
        for name, value in parameters.items():
            if name not in known:
                raise InvalidInputError(f"{type(self).__name__} has no parameter {name!r}. It has {', '.join(known)}.")
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of an estimator: it takes tables of words and numbers, with gaps, and needs a history.

        Only scikit-learn calls this, so it is there to import.
        """
        from sklearn.utils import InputTags, Tags, TargetTags

        inputs = InputTags(two_d_array=True, string=True, categorical=True, allow_nan=True)
        return Tags(estimator_type=None, target_tags=TargetTags(required=True), input_tags=inputs)

    def __repr__(self) -> str:
        defaults = {name: each.default for name, each in inspect.signature(type(self)).parameters.items()}
        changed = [f"{name}={value!r}" for name, value in self.get_params().items() if value is not defaults[name]]
        return f"{type(self).__name__}({', '.join(changed)})"
