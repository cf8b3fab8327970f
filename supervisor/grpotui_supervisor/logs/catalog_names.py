"""The canonical metrics: name, unit, which way is good, and what the number means. Data only."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

Good = Literal["up", "down", "neither", "target"]
"""`target`: neither end is good, the number belongs near a value or inside a band."""


class Metric(NamedTuple):
    """One canonical metric."""

    name: str
    unit: str
    """Empty for a bare number."""
    good: Good
    meaning: str
    """One line, without the name."""


METRICS: Final = (
    Metric("score/mean", "points", "up", "mean score of the answers, before any KL penalty"),
    Metric("score/max", "points", "up", "highest score of an answer in the batch"),
    Metric("score/min", "points", "up", "lowest score of an answer in the batch"),
    Metric("reward/mean", "points", "up", "mean reward, after the KL penalty, or the framework's only one"),
    Metric("reward/std", "points", "neither", "standard deviation of the reward over the whole batch"),
    Metric("reward/max", "points", "up", "highest reward of an answer in the batch"),
    Metric("reward/min", "points", "up", "lowest reward of an answer in the batch"),
    Metric("reward/zero_std_groups", "share", "down", "groups whose answers all got one reward: they teach nothing"),
    Metric("advantage/max", "", "neither", "largest advantage; 0 together with the smallest one means no gradient"),
    Metric("advantage/min", "", "neither", "smallest advantage"),
    Metric("kl/reference", "nats", "target", "KL of the policy against the reference model, a token"),
    Metric("kl/update", "nats", "target", "KL of the new policy against the one before the update, a token"),
    Metric("kl/mismatch", "nats", "down", "how far trainer and rollout engine differ on the same tokens"),
    Metric("entropy", "nats", "target", "entropy of the policy, a token; higher is more random"),
    Metric("clip_ratio", "share", "target", "tokens whose probability ratio was clipped"),
    Metric("clip_ratio/low", "share", "target", "tokens clipped at the lower bound (verl: by dual clip)"),
    Metric("clip_ratio/high", "share", "target", "tokens clipped at the upper bound"),
    Metric("length/mean", "tokens", "neither", "mean length of an answer, without the prompt"),
    Metric("length/max", "tokens", "neither", "longest answer of the batch"),
    Metric("length/truncated", "share", "down", "answers cut off at the length limit"),
    Metric("prompt/mean", "tokens", "neither", "mean length of a prompt"),
    Metric("tokens_total", "tokens", "neither", "prompt and answer tokens since the start"),
    Metric("grad_norm", "", "target", "norm of the gradient, before it is clipped"),
    Metric("learning_rate", "", "neither", "learning rate of the policy"),
    Metric("loss", "", "neither", "the whole loss; about 0 is normal on-policy and says nothing"),
    Metric("loss/policy", "", "neither", "policy loss alone"),
    Metric("loss/value", "", "down", "loss of the value model (PPO)"),
    Metric("value/clip_ratio", "share", "target", "values that were clipped (PPO)"),
    Metric("value/explained_variance", "", "up", "variance of the returns that the value model explains (PPO)"),
    Metric("time/generate", "s", "down", "generating answers"),
    Metric("time/wait", "s", "down", "waiting for answers that others generate meanwhile"),
    Metric("time/reward", "s", "down", "computing rewards"),
    Metric("time/logprob", "s", "down", "log-probabilities of the answers under the policy"),
    Metric("time/reference", "s", "down", "log-probabilities of the answers under the reference model"),
    Metric("time/update", "s", "down", "updating the policy"),
    Metric("time/sync", "s", "down", "bringing new weights to the rollout engine"),
    Metric("time/validate", "s", "down", "validation"),
    Metric("time/step", "s", "down", "the whole step"),
    Metric("tokens_per_s", "tokens/s/GPU", "up", "tokens a second"),
    Metric("memory/allocated_max", "GiB", "down", "most GPU memory torch had allocated at once"),
    Metric("memory/reserved_max", "GiB", "down", "most GPU memory torch had reserved at once"),
    Metric("memory/cpu", "GiB", "down", "host memory in use"),
    Metric("engine/kv_cache", "share", "target", "KV cache of the rollout engine in use"),
    Metric("engine/running", "requests", "neither", "requests the rollout engine works on"),
    Metric("engine/waiting", "requests", "down", "requests waiting in the rollout engine"),
    Metric("engine/preemptions", "requests", "down", "requests thrown out of a full KV cache since the line before"),
    Metric("engine/preemptions_total", "requests", "down", "the same since the engine's start (vLLM before V1)"),
    Metric("engine/tokens_per_s", "tokens/s", "up", "tokens a second out of the rollout engine"),
    Metric("engine/prompt_tokens_per_s", "tokens/s", "up", "prompt tokens a second into the rollout engine"),
    Metric("engine/prefix_hits", "share", "up", "prompt tokens that were found in the prefix cache"),
    Metric("engine/kv_cache_tokens", "tokens", "up", "size of the KV cache, as the engine said at its start"),
    Metric("engine/kv_cache_blocks", "blocks", "up", "the same in blocks (vLLM before V1)"),
    Metric("engine/kv_cache_memory", "GiB", "up", "GPU memory for the KV cache, as the engine said at its start"),
    Metric("engine/request_tokens", "tokens", "neither", "length of a request that the maximum concurrency is for"),
    Metric("engine/max_concurrency", "requests", "up", "requests of that length that the KV cache holds at once"),
    Metric("engine/max_running", "requests", "up", "requests that the engine works on at once, at most (SGLang)"),
    Metric("engine/weights", "GiB", "down", "GPU memory for the weights, as the engine said at its start"),
    Metric("engine/sleep_freed", "GiB", "up", "GPU memory that came free when the engine fell asleep"),
    Metric("engine/sleep_in_use", "GiB", "down", "GPU memory still in use after that; if it grows, something leaks"),
    Metric("engine/sleep_unmapped", "GiB", "up", "GPU memory that the engine's allocator gave back for that"),
    Metric("engine/sleep_backed_up", "GiB", "neither", "of that, what was copied to host memory"),
    Metric("engine/sleep_time", "s", "down", "time to fall asleep"),
    Metric(
        "engine/wake_time", "s", "down", "time to wake up, for weights and KV cache apart where they are woken apart"
    ),
    Metric("epoch", "epochs", "neither", "passes over the data set so far"),
)

OPEN_METRICS: Final = (
    Metric("reward/part/<name>", "points", "up", "one reward function's share in the reward"),
    Metric("val/<name>", "", "up", "a validation metric, under the run's own name"),
)
"""Names that end in one of the run's own."""
