"""Studies of armwise that are no part of the product: ``python -m reproduction NAME``."""
