"""Pictures of the real program, made by one command from inputs that are in the repository: `python -m screenshots`."""
