"""The supervisor: starts ranks, keeps their real exits, and folds the run directory into a state.

Importing this package must stay free of cost: the shim starts from here with `python -I -S`.
"""

__version__ = "0.1.0"
