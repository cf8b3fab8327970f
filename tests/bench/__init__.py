"""Measurements of the supervisor: `python -m tests.bench` prints them as a table, each beside its goal.

Machines are noisy: CPU time where that is the question, medians everywhere, a peer in the same run where there is one.
"""
