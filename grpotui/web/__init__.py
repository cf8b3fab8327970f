"""The dashboard in a browser: loopback only, read-only, for who has the token of this start."""
