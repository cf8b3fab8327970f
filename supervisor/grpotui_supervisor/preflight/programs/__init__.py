"""Programs that run in the training interpreter: standard library at import, Python 3.8 and newer.

They are handed over as text (`preflight.child`), so that they also run in a container that does not see this folder;
`base` is there under its own name, whatever else is installed.
"""
