"""SIM-DFL: the simulation-based baseline, with a kernel for NVIDIA GPUs."""

from armwise.losses.sim_dfl.sim_dfl import SimDFL

__all__ = ["SimDFL"]
