"""The opt-in hook: what TRL's and transformers' own timers and callbacks say, from inside the training interpreter.

`launch` puts the folder `path` first on PYTHONPATH, so that Python runs its only file, `sitecustomize.py`. That one
loads the files here as the package `_grpotui_hook`, and only where a trainer is imported. Standard library only,
Python 3.8 and newer. It can never make the job fail, nor change what it does: whatever cannot be recorded is left out.
Each process writes `ranks/<member>/probe-<pid>.jsonl` of the run directory, and none before it has something to say.
"""
