"""What a run will need, computed before it starts: memory, KV cache, batches. Pure: no I/O, no clock."""
