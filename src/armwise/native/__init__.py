"""A C++ version of the computation that XLA runs slowly on a CPU.

This machine compiles it when a loss that can use it is prepared. It is optional: without a compiler, on another
platform or with ``ARMWISE_NATIVE=0`` in the environment, JAX computes the same result.
"""

from armwise.native.dec_dfl import COVERED, Inputs, compile_kernel, covers, is_compiled, loss_and_gradient

__all__ = ["COVERED", "Inputs", "compile_kernel", "covers", "is_compiled", "loss_and_gradient"]
