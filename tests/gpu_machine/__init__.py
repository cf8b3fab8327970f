"""Runs for a machine with NVIDIA GPUs, through the command line as a person uses it."""
