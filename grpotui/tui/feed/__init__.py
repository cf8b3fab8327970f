"""What the screens look at, as of a cursor: a live run, a run at a moment, or a bare log."""
