"""Measurements, side by side with peers; each module is one benchmark and writes its part of results/."""
