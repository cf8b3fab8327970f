"""What the benchmarks run as a rank: `work.py work | say-when | die-at TIME`."""

import os
import sys
import time

mode = sys.argv[1]
if mode == "say-when":
    print(time.monotonic_ns(), flush=True)
elif mode == "die-at":
    while (left := float(sys.argv[2]) - time.monotonic()) > 0:
        time.sleep(left)
    os.write(1, str(time.monotonic_ns()).encode())
    os._exit(3)
else:
    began, total = time.process_time(), 0
    for number in range(60_000_000):
        total += number & 7
    print(time.process_time() - began, flush=True)
