"""`python -m tests.bench [NAME…]`: all measurements, or those named."""

from __future__ import annotations

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(HERE, "..", "..", "supervisor"), os.path.join(HERE, "..", "..")]

from bench import charts, dashboard, event_files, following, gpus, hf_logs, log_page, logs, measures, peers  # noqa: E402

MEASURES = (
    measures.shim_at_rest,
    measures.spawn_64,
    measures.death_to_record,
    measures.launch_to_first_rank,
    measures.command_cpu,
    measures.slow_down,
    following.write_to_source,
    following.following_idle,
    following.following_flood,
    event_files.event_files,
    hf_logs.hf_log_speed,
    hf_logs.hf_log_follow,
    logs.verl_logs,
    gpus.gpu_sampling,
    charts.six_charts,
    dashboard.first_frame,
    dashboard.new_step,
    dashboard.death_on_screen,
    dashboard.key_to_repaint,
    dashboard.cpu_and_memory,
    log_page.key_while_streaming,
    log_page.large_log,
    peers.lnav,
    peers.leet,
)


def main() -> None:
    chosen = [m for m in MEASURES if not sys.argv[1:] or m.__name__ in sys.argv[1:]]
    print("| what | measured | goal | |\n|---|---|---|---|")
    for measure in chosen:
        for row in measure():
            mark = {True: "held", False: "MISSED", None: ""}[row.held]
            print(f"| {row.what} | {row.measured} | {row.goal} | {mark} |", flush=True)


if __name__ == "__main__":
    main()
