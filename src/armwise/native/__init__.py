"""What XLA is slow at on a CPU, in C++, compiled on this machine when a loss is prepared that can use it.

Nothing depends on it: without a compiler, on another platform or with ``ARMWISE_NATIVE=0`` in the environment, the same
is computed with JAX.
"""

from armwise.native.dec_dfl import COVERED, Inputs, compile_kernel, covers, is_compiled, loss_and_gradient

__all__ = ["COVERED", "Inputs", "compile_kernel", "covers", "is_compiled", "loss_and_gradient"]
