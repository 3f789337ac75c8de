"""What other choices would have achieved, from calls made at random."""
