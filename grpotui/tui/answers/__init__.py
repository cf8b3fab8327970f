"""Answers of the model: kept in a file without a name while they are looked at, chosen from, searched."""
