"""Prompts and answers of a run, with their rewards: from its log, or from the files the trainers dump them to.

Everything but `files` is pure: text in, `Sample` out. The text of a sample is whatever a model wrote; show it only
through `inert`.
"""
