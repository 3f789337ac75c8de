"""Domains: cohorts with their problem, simulated or read from public data; ``armwise.data`` exports all of them."""
