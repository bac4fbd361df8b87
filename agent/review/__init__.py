"""Judging refusals by hand: which are shown, what was said, and how many are wrong."""
