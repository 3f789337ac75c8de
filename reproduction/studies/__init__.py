"""Studies of armwise beyond the paper: one folder or one module each."""
