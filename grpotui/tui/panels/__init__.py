"""One panel a file; each shows a frame, and knows no other."""
