"""Checks before a run: whether it can work. One file a check; each starts what it needs, and ends all of it."""
