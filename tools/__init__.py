"""Tools for those who change armwise; no part of the package."""
