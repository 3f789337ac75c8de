"""Worlds in which calls do nothing, hurt or help: what armwise says of them."""
