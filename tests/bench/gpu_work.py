"""What the benchmark of GPUs runs: `gpu_work.py ours | nvitop | gpustat SECONDS`, and prints its share of a core.

Eight devices are looked at once a second. nvitop and gpustat are asked for what their screens show; gpustat sleeps a
tenth of a second a device in each look, which is no CPU time.
"""

import sys
import time

who, seconds = sys.argv[1], float(sys.argv[2])
if who == "ours":
    from grpotui_supervisor.gpu.sampler import Sampler

    sampler = Sampler()
    sampler.start()
    look = sampler.take
elif who == "nvitop":
    from nvitop import Device  # type: ignore[import-not-found]

    devices = Device.all()

    def look():  # type: ignore[no-untyped-def]  # noqa: ANN201
        return [(device.as_snapshot(), device.processes()) for device in devices]
else:
    import gpustat  # type: ignore[import-not-found]

    look = gpustat.new_query

until = time.monotonic() + 2.0  # the first looks open the library and describe the devices
while time.monotonic() < until:
    look()
    time.sleep(1.0)
before, began, looks = time.process_time(), time.monotonic(), 0
while time.monotonic() - began < seconds:
    due = time.monotonic() + 1.0
    seen = look()
    looks += sum(type(one).__name__ == "Readings" for one in seen) if who == "ours" else 1
    time.sleep(max(0.0, due - time.monotonic()))
assert looks >= seconds * 0.9 - 1, looks
print((time.process_time() - before) / (time.monotonic() - began))
