"""Which loss to train by: candidates beside the best single loss, and the recommended recipe."""
