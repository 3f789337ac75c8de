"""Losses and models by name, trained and tested: one job per domain, loss and model."""
