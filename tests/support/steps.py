"""A rank that prints steps as verl does: `steps.py COUNT SECONDS`, that long apart; then it exits 0."""

import sys
import time

count, seconds = int(sys.argv[1]), float(sys.argv[2])
print(f"Total training steps: {count}", flush=True)  # the bar says it too, on the other stream: that has no order
for step in range(1, count + 1):
    sys.stderr.write(f"\rTraining Progress: {100 * step // count}%|x| {step}/{count} [00:01<00:01, 1.0s/it]")
    print(
        f"step:{step} - critic/rewards/mean:{step / count:.3f} - actor/entropy:nan - critic/score/mean:0.5"
        f" - timing_s/step:{seconds:.3f} - response_length/mean:7.0 - training/global_step:{step}",
        flush=True,
    )
    time.sleep(seconds)
