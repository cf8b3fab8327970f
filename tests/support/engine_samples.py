"""Lines of rollout engines, made by hand in their exact format, and the numbers in them."""

from typing import NamedTuple


class Line(NamedTuple):
    text: str
    engine: str
    numbers: dict[str, float]


VLLM = [
    Line(
        "(APIServer pid=178) INFO 11-14 17:32:07 [v1/metrics/loggers.py:221] Engine 000: Avg prompt "
        "throughput: 41.2 tokens/s, Avg generation throughput: 512.8 tokens/s, Running: 7 reqs, Waiting: 2 "
        "reqs, GPU KV cache usage: 3.1%, Prefix cache hit rate: 12.5%",
        "APIServer pid=178 Engine 000",
        {
            "engine/prompt_tokens_per_s": 41.2,
            "engine/tokens_per_s": 512.8,
            "engine/running": 7.0,
            "engine/waiting": 2.0,
            "engine/kv_cache": 0.031,
            "engine/prefix_hits": 0.125,
        },
    ),
    Line(
        "INFO 08-13 12:00:00 [loggers.py:259] Engine 001: Avg prompt throughput: 0.0 tokens/s, Avg "
        "generation throughput: 1024.0 tokens/s, Running: 256 reqs, Waiting: 31 reqs, Deferred: 1 reqs, "
        "Preemptions: 4, GPU KV cache usage: 99.5%, Prefix cache hit rate: 0.0%, MM cache hit rate: 5.0%",
        "Engine 001",
        {
            "engine/prompt_tokens_per_s": 0.0,
            "engine/tokens_per_s": 1024.0,
            "engine/running": 256.0,
            "engine/waiting": 31.0,
            "engine/preemptions": 4.0,
            "engine/kv_cache": 0.995,
            "engine/prefix_hits": 0.0,
        },
    ),
    Line(
        "INFO 03-01 12:00:00 metrics.py:455] Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: "
        "12.3 tokens/s, Running: 5 reqs, Swapped: 1 reqs, Pending: 3 reqs, GPU KV cache usage: 1.2%, CPU KV "
        "cache usage: 0.5%.",
        "",
        {
            "engine/prompt_tokens_per_s": 0.0,
            "engine/tokens_per_s": 12.3,
            "engine/running": 5.0,
            "engine/waiting": 3.0,
            "engine/kv_cache": 0.012,
        },
    ),
    Line(
        "(EngineCore_DP0 pid=178) INFO 08-13 12:00:00 [kv_cache_utils.py:634] GPU KV cache size: 2,252,970 tokens",
        "EngineCore_DP0 pid=178",
        {"engine/kv_cache_tokens": 2252970.0},
    ),
    Line(
        "INFO 08-13 12:00:00 [kv_cache_utils.py:637] Maximum concurrency for 8,192 tokens per request: 24.27x",
        "",
        {"engine/request_tokens": 8192.0, "engine/max_concurrency": 24.27},
    ),
    Line(
        "INFO 08-13 12:00:00 [gpu_worker.py:276] Available KV cache memory: 8.11 GiB",
        "",
        {"engine/kv_cache_memory": 8.11},
    ),
    Line(
        "INFO 08-13 12:00:00 [gpu_model_runner.py:1801] Model loading took 14.99 GiB memory and 5.105 seconds",
        "",
        {"engine/weights": 14.99},
    ),
    Line(
        "INFO 04-09 13:04:06 worker.py:267] the current vLLM instance can use total_gpu_memory (79.11GiB); "
        "model weights take 5.20GiB; non_torch_memory takes 0.03GiB; PyTorch activation peak memory takes "
        "1.42GiB; the rest of the memory reserved for KV Cache is 40.12GiB.",
        "",
        {"engine/weights": 5.2, "engine/kv_cache_memory": 40.12},
    ),
    Line(
        "INFO 04-09 13:04:06 executor_base.py:111] # cuda blocks: 1952, # CPU blocks: 4096",
        "",
        {"engine/kv_cache_blocks": 1952.0},
    ),
    Line(
        "(WorkerDict pid=68) INFO 09-09 05:30:56 [gpu_worker.py:98] Sleep mode freed 31.80 GiB memory, 9.44 "
        "GiB memory is still in use.",
        "WorkerDict pid=68",
        {"engine/sleep_freed": 31.8, "engine/sleep_in_use": 9.44},
    ),
    Line(
        "INFO 11-14 17:32:11 [cumem.py:239] CuMemAllocator: sleep freed 34.06 GiB memory in total, of which "
        "7.56 GiB is backed up in CPU and the rest 26.51 GiB is discarded directly.",
        "",
        {"engine/sleep_unmapped": 34.06, "engine/sleep_backed_up": 7.56},
    ),
    Line("[cumem.py:271] CuMemAllocator: sleep freed 27.29 GiB memory ...", "", {"engine/sleep_unmapped": 27.29}),
    Line("INFO [executor_base.py:210] It took 3.152677 seconds to fall asleep.", "", {"engine/sleep_time": 3.152677}),
    Line(
        "50/4708 [31:08<88:27, 92.10s/it]INFO [executor_base.py:227] It took 0.612868 seconds to wake up "
        "tags ['weights'].",
        "",
        {"engine/wake_time": 0.612868},
    ),
    Line(
        "WARNING 03-01 12:00:00 scheduler.py:1242] Sequence group 5 is preempted by PreemptionMode.RECOMPUTE "
        "mode because there is not enough KV cache space. total_num_cumulative_preemption=51",
        "",
        {"engine/preemptions_total": 51.0},
    ),
]

SGLANG = [
    Line(
        "[2026-07-20 17:53:16 TP0] Decode batch. #running-req: 5, #token: 1234, token usage: 0.12, cuda "
        "graph: True, gen throughput (token/s): 123.45, #queue-req: 3, ",
        "TP0",
        {"engine/running": 5.0, "engine/kv_cache": 0.12, "engine/tokens_per_s": 123.45, "engine/waiting": 3.0},
    ),
    Line(
        "[2026-07-20 17:53:16 DP1 TP0] Decode batch, #running-req: 5, #full token: 1234, full token usage: "
        "0.25, #swa token: 99, swa token usage: 0.75, gen throughput (token/s): 123.45, #queue-req: 0",
        "DP1 TP0",
        {"engine/running": 5.0, "engine/kv_cache": 0.25, "engine/tokens_per_s": 123.45, "engine/waiting": 0.0},
    ),
    Line(
        "(SGLangEngine pid=9) [2026-07-20 17:53:16] Prefill batch. #new-seq: 1, #new-token: 8, "
        "#cached-token: 0, token usage: 0.50, #running-req: 2, #queue-req: 7, input throughput (token/s): "
        "8.50",
        "SGLangEngine pid=9",
        {"engine/kv_cache": 0.5, "engine/running": 2.0, "engine/waiting": 7.0, "engine/prompt_tokens_per_s": 8.5},
    ),
    Line(
        "[2026-07-20 17:53:16] KV cache pool is full. Retract requests. #retracted_reqs: 3, "
        "#new_token_ratio: 0.4 -> 0.9",
        "",
        {"engine/preemptions": 3.0},
    ),
    Line(
        "[2026-07-20 17:53:16 TP0] KV Cache is allocated. #tokens: 367404, K size: 8.25 GB, V size: 8.25 GB",
        "TP0",
        {"engine/kv_cache_tokens": 367404.0, "engine/kv_cache_memory": 16.5},
    ),
    Line(
        "[2026-07-20 17:53:16 TP0] max_total_num_tokens=367404, chunked_prefill_size=8192, "
        "max_prefill_tokens=16384, max_running_requests=2048, context_len=32768, available_gpu_mem=9.21 GB",
        "TP0",
        {"engine/kv_cache_tokens": 367404.0, "engine/max_running": 2048.0},
    ),
]

LINES = [*VLLM, *SGLANG]

OTHERS = [
    "the GPU KV cache size is not known",
    "Maximum concurrency for 32768 tokens per request: unknown",
    "Decode batch of 5, #running-req is 5",
    "I will sleep and it took 5 seconds",
    "step:1 - perf/throughput:5",
    "ValueError: No available memory for the cache blocks.",
]
