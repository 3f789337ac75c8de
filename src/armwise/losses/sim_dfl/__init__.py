"""SIM-DFL: the simulation-based baseline, with a kernel for NVIDIA GPUs."""

from armwise.losses.sim_dfl.loss import SimDFL

__all__ = ["SimDFL"]
