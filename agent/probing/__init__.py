"""Known questions asked of a running service on a schedule, and what came of them."""
