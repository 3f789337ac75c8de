"""Ways to predict next week's state, on real histories."""
