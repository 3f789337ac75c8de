"""Domains: cohorts with the problem they pose, simulated or read from public data; ``armwise.data`` has them all."""
