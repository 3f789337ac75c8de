"""DEC-DFL (Algorithm 1): the loss, its reference implementation, and faster ways to compute it."""

from armwise.losses.dec_dfl.loss import DecDFL

__all__ = ["DecDFL"]
