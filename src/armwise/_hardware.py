"""The devices that this machine computes on; only this module asks JAX for them.

JAX starts its devices when it is first asked. So no module may call these functions while it is imported.
"""

import jax


def platform() -> str:
    """The platform that JAX computes on by default: "cpu", "gpu" or "tpu"."""
    return jax.default_backend()


def on_cpu() -> bool:
    """Whether JAX computes on the CPU by default."""
    return platform() == "cpu"


def on_gpu() -> bool:
    """Whether JAX computes on a GPU by default."""
    return platform() == "gpu"


def nvidia_capability() -> float | None:
    """The compute capability of this machine's NVIDIA GPU, such as 9.0; None on any other device."""
    if not on_gpu():
        return None
    # GPUs of other makers report a name instead.
    capability = str(getattr(jax.devices()[0], "compute_capability", ""))
    return float(capability) if capability.replace(".", "", 1).isdigit() else None
