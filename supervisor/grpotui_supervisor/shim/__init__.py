"""The shim: the two small processes (guard and worker) that own the ranks of one run.

Standard library only, one thread each, no sockets. It spawns, waits, records and ends processes, and nothing
else: no log is read here and no device is asked. `__main__` is the entry; `guard` and `worker` are the two
processes; everything they share lives in `job`.
"""
