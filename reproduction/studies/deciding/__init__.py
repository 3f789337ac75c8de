"""Ways to decide whom to call, on simulated programmes whose truth is known."""
