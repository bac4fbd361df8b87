"""Faults for a game day: each is a small wrapper around a real part, for this graph or your own."""
