"""Lines of logs of any size: an index by counts, the order in which they came, search, filter, and the thread of it."""
