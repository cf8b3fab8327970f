"""Fuzzing of all that reads bytes: `python -m tests.fuzz [SECONDS]`, for which atheris is needed; tests use it too."""
