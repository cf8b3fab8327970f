"""A run, read from its directory: live, after the fact, or as of any moment in between, by the same fold.

The invariant: the state shown live at time T equals the state that replay computes for T. So nothing is shown that is
not in a record: a log counts as far as `timeline.jsonl` says that it had grown.
"""
