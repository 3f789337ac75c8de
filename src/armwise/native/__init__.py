"""What XLA is slow at on a CPU, in C++, compiled on this machine when it is first needed.

Nothing depends on it: without a compiler, on another platform or with ``ARMWISE_NATIVE=0`` in the environment, the same
is computed with JAX.
"""

from armwise.native.dec_dfl import Inputs, is_available, loss_and_gradient

__all__ = ["Inputs", "is_available", "loss_and_gradient"]
