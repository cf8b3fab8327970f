"""What the other frameworks call the canonical metrics. Data only.

Not printed is not listed: a share that could be worked out from other numbers is worked out in `catalog`.
"""

from __future__ import annotations

from typing import Final

from grpotui_supervisor.logs.catalog_keys import Key, keys

_ALL_GPUS: Final = "tokens/s"

SLIME: Final = keys(
    {
        "reward/mean": (Key("rollout/raw_reward", note="rollout/rewards is normalised in its group, and about 0"),),
        "kl/reference": ("train/kl_loss", Key("rollout/kl", note="before the update")),
        "kl/update": ("train/ppo_kl",),
        "kl/mismatch": (Key("train/train_rollout_logprob_abs_diff", note="mean gap of log-probabilities, no KL"),),
        "entropy": ("train/entropy_loss",),
        "clip_ratio": ("train/pg_clipfrac",),
        "length/mean": ("rollout/response_len/mean", "rollout/response_lengths"),
        "length/max": ("rollout/response_len/max",),
        "length/truncated": ("rollout/truncated_ratio", Key("rollout/truncated", note="always 0 in early versions")),
        "grad_norm": ("train/grad_norm",),
        "learning_rate": ("train/lr-pg_0",),
        "loss": ("train/loss",),
        "loss/policy": ("train/pg_loss",),
        "time/generate": ("perf/rollout_time",),
        "time/wait": ("perf/train_wait_time",),
        "time/logprob": ("perf/log_probs_time",),
        "time/reference": ("perf/ref_log_probs_time",),
        "time/update": ("perf/actor_train_time",),
        "time/sync": ("perf/update_weights_time",),
        "time/step": ("perf/step_time",),
        "tokens_per_s": (
            Key("perf/tokens_per_gpu_per_sec", note="generation"),
            Key("perf/actor_train_tok_per_s", note="training"),
        ),
    }
)

OPENRLHF: Final = keys(
    {
        "reward/mean": (Key("rollout/reward_mean", "2026-03+"), Key("rm", "before 0.8"), "reward"),
        "reward/std": (Key("rollout/reward_std", "2026-03+"), "group_reward_std"),
        "kl/reference": ("kl",),
        "kl/update": ("ppo_kl",),
        "kl/mismatch": ("vllm_kl",),
        "entropy": (
            Key("entropy_loss", note="only where an entropy coefficient is set"),
            Key("ent", "before 0.8"),
            Key("ent_loss", "before 0.8"),
        ),
        "clip_ratio": ("ppo_clip_ratio",),
        "length/mean": (
            Key("rollout/response_length_mean", "2026-03+"),
            "response_length",
            Key("glen", "before 0.8"),
            Key("gen_len", "before 0.8"),
        ),
        "length/truncated": (Key("rollout/truncated_rate", "2026-03+"), "truncated"),
        "grad_norm": ("actor_grad_norm", Key("grad_norm", "before 0.8")),
        "learning_rate": ("actor_lr", Key("act_lr", "before 0.8"), Key("policy_lr", "before 0.8")),
        "loss/policy": ("policy_loss", Key("pg", "before 0.8")),
        "loss/value": ("critic_loss", Key("cri", "before 0.8")),
        "time/generate": ("timing/generation",),
        "time/update": ("timing/ppo_train",),
        "time/sync": ("timing/broadcast",),
        "time/step": (Key("timing/step_total", note="asynchronous: with the wait for answers"),),
    }
)

EASYR1: Final = keys(
    {
        "score/mean": ("critic/score/mean",),
        "score/max": ("critic/score/max",),
        "score/min": ("critic/score/min",),
        "reward/mean": ("critic/rewards/mean", "reward/overall"),
        "reward/max": ("critic/rewards/max",),
        "reward/min": ("critic/rewards/min",),
        "advantage/max": ("critic/advantages/max",),
        "advantage/min": ("critic/advantages/min",),
        "kl/reference": ("actor/kl_loss",),
        "kl/update": ("actor/ppo_kl",),
        "entropy": ("actor/entropy_loss",),
        "clip_ratio": (Key("actor/pg_clipfrac_higher", note="at the upper bound"),),
        "clip_ratio/low": ("actor/pg_clipfrac_lower",),
        "length/mean": ("response_length/mean",),
        "length/max": ("response_length/max",),
        "length/truncated": ("response_length/clip_ratio",),
        "prompt/mean": ("prompt_length/mean",),
        "grad_norm": ("actor/grad_norm",),
        "learning_rate": ("actor/lr",),
        "loss/policy": ("actor/pg_loss",),
        "loss/value": ("critic/vf_loss",),
        "time/generate": ("timing_s/gen",),
        "time/reward": ("timing_s/reward",),
        "time/logprob": ("timing_s/old",),
        "time/reference": ("timing_s/ref",),
        "time/update": ("timing_s/update_actor",),
        "time/validate": ("timing_s/validation",),
        "time/step": ("timing_s/step", "perf/time_per_step"),
        "tokens_per_s": ("perf/throughput",),
        "memory/allocated_max": ("perf/max_memory_allocated_gb",),
        "memory/reserved_max": ("perf/max_memory_reserved_gb",),
        "memory/cpu": ("perf/cpu_memory_used_gb",),
    }
)

PRIME_RL: Final = keys(
    {
        "reward/mean": ("Reward",),
        "kl/mismatch": ("Mismatch KL", Key("mismatch_kl/all/mean", "metrics.jsonl")),
        "entropy": ("Entropy", Key("entropy/all/mean", "metrics.jsonl")),
        "length/truncated": (Key("Truncation", note="printed in percent", divisor=100.0),),
        "grad_norm": ("Grad. Norm", Key("optim/grad_norm", "metrics.jsonl")),
        "learning_rate": ("LR", Key("optim/lr", "metrics.jsonl")),
        "loss": ("Loss", Key("loss/mean", "metrics.jsonl")),
        "time/wait": (Key("time/wait_for_batch", "metrics.jsonl"),),
        "time/update": (Key("time/forward_backward", "metrics.jsonl"),),
        "time/sync": (Key("time/broadcast_weights", "metrics.jsonl"),),
        "time/step": (
            Key("step_time", note="the trainer's"),
            Key("time/step", "metrics.jsonl", "the trainer's"),
            Key("orchestrator/step_time", note="the orchestrator's"),
            Key("orchestrator/time/step", "metrics.jsonl", "the orchestrator's"),
        ),
        "tokens_per_s": (
            Key("perf/throughput_per_gpu", "metrics.jsonl"),
            Key("Throughput", note="all GPUs together", unit=_ALL_GPUS),
        ),
        "memory/reserved_max": ("Peak Mem.", Key("perf/peak_memory", "metrics.jsonl")),
    }
)

NEMO_RL: Final = keys(
    {
        "reward/mean": (
            "Avg Reward",
            Key("Avg Total Reward", "dynamic sampling", "before groups are filtered out"),
            Key("reward", "TensorBoard"),
        ),
        "kl/reference": (Key("kl_penalty", "TensorBoard"),),
        "kl/mismatch": ("Generation KL Error", Key("gen_kl_error", "TensorBoard")),
        "entropy": (Key("approx_entropy", "TensorBoard"),),
        "length/mean": ("Mean Generation Length", Key("mean_gen_tokens_per_sample", "TensorBoard")),
        "length/truncated": (Key("truncation_rate", "TensorBoard"),),
        "grad_norm": (Key("grad_norm", "TensorBoard"),),
        "learning_rate": (Key("lr", "TensorBoard"),),
        "loss": ("Loss",),
        "time/generate": ("generation", Key("exposed_generation", "async")),
        "time/reward": ("reward_calculation",),
        "time/logprob": (Key("policy_and_reference_logprobs", note="with the reference model"),),
        "time/update": ("policy_training",),
        "time/sync": ("prepare_for_generation/transfer_and_update_weights",),
        "time/step": ("Total step time",),
        "tokens_per_s": ("E2E (Tokens/sec/gpu)",),
    }
)

AREAL: Final = keys(
    {
        "reward/mean": ("ppo_actor/task_reward/avg", "rollout/reward"),
        "reward/max": ("ppo_actor/task_reward/max",),
        "reward/min": ("ppo_actor/task_reward/min",),
        "advantage/max": ("ppo_actor/advantages/max",),
        "advantage/min": ("ppo_actor/advantages/min",),
        "kl/reference": (Key("ppo_actor/kl_rewards/avg", note="the penalty: minus the coefficient times the KL"),),
        "kl/update": ("ppo_actor/update/approx_kl/avg",),
        "entropy": ("ppo_actor/update/entropy/avg",),
        "clip_ratio": ("ppo_actor/update/clip_ratio/avg",),
        "length/mean": (Key("ppo_actor/seq_len/avg", note="less ppo_actor/prompt_len/avg, which it includes"),),
        "length/truncated": ("ppo_actor/no_eos_ratios/avg",),
        "prompt/mean": ("ppo_actor/prompt_len/avg",),
        "grad_norm": ("ppo_actor/update/grad_norm",),
        "learning_rate": ("ppo_actor/update/lr",),
        "loss/policy": ("ppo_actor/update/actor_loss/avg",),
        "time/generate": ("timeperf/rollout",),
        "time/logprob": ("timeperf/recompute_logp",),
        "time/reference": ("timeperf/ref_logp",),
        "time/update": ("timeperf/train_step",),
        "time/sync": ("timeperf/update_weights",),
    }
)

ROLL: Final = keys(
    {
        "score/mean": ("critic/score/mean", Key("rollout/score/mean", "agentic")),
        "reward/mean": ("critic/rewards/mean",),
        "kl/reference": ("critic/kl", "actor/kl_loss"),
        "kl/update": ("actor/approxkl",),
        "entropy": ("actor/entropy_loss", "critic/entropy/mean"),
        "clip_ratio": ("actor/ppo_ratio_clipfrac",),
        "length/mean": (Key("tokens/response_length/mean", "agentic"), Key("token/response_length/mean", "RLVR")),
        "length/max": (Key("tokens/response_length/max", "agentic"), Key("token/response_length/max", "RLVR")),
        "length/truncated": (Key("token/total_response_length/clip", "RLVR"),),
        "grad_norm": ("actor_train/grad_norm",),
        "learning_rate": ("actor/lr",),
        "loss/policy": ("actor/pg_loss",),
        "time/generate": (Key("time/step_generate", "RLVR"), Key("time/step_rollout", "agentic")),
        "time/update": ("time/step_train",),
        "time/sync": ("time/step_model_update",),
        "time/step": (Key("time/step_total", note="RLVR: of the step before"),),
        "tokens_per_s": (Key("system/tps", note="all GPUs together", unit=_ALL_GPUS),),
    }
)

SKYRL: Final = keys(
    {
        "reward/mean": ("reward/avg_raw_reward", "avg_final_rewards", "loss/avg_final_rewards"),
        "kl/reference": ("loss/avg_kl",),
        "kl/update": ("policy/policy_kl", "policy_kl"),
        "entropy": ("policy/policy_entropy", "policy_entropy"),
        "clip_ratio": ("policy/loss_metrics/clip_ratio", "loss_metrics/clip_ratio"),
        "length/mean": (
            "generate/avg_num_tokens",
            Key("avg_response_length", note="the status line's response_length is the padded length"),
        ),
        "length/max": ("generate/max_num_tokens",),
        "grad_norm": ("policy/grad_norm", "grad_norm"),
        "learning_rate": ("policy/policy_lr", "policy_lr"),
        "loss": ("policy/final_loss", "final_loss"),
        "loss/policy": ("policy/policy_loss", "policy_loss"),
        "time/generate": ("timing/generate",),
        "time/logprob": ("timing/fwd_logprobs_values_reward",),
        "time/update": ("timing/train_critic_and_policy", "timing/policy_train"),
        "time/sync": ("timing/sync_weights",),
        "time/validate": ("timing/eval",),
        "time/step": ("timing/step",),
        "tokens_per_s": ("trainer/tokens_per_second_per_gpu",),
        "epoch": ("trainer/epoch",),
    }
)

OPEN_INSTRUCT: Final = keys(
    {
        "reward/mean": ("scores",),
        "reward/zero_std_groups": (Key("batch/filtered_prompts_pct", note="printed as a share, whatever its name"),),
        "kl/reference": ("objective/kl2_avg",),
        "entropy": ("policy/entropy_avg",),
        "clip_ratio": ("policy/clipfrac_avg",),
        "length/mean": ("val/sequence_lengths",),
        "length/max": ("val/sequence_lengths_max",),
        "grad_norm": ("optim/grad_norm",),
        "learning_rate": ("lr",),
        "loss": ("loss/total_avg",),
        "loss/policy": ("loss/policy_avg",),
        "time/generate": ("time/group_generation_max",),
        "time/update": ("time/training",),
        "time/step": ("time/total",),
        "tokens_per_s": (Key("learner_tokens_per_second_step", note="all GPUs together", unit=_ALL_GPUS),),
        "epoch": ("epoch",),
    }
)

TORCHFORGE: Final = keys(
    {
        "reward/mean": ("reward/evaluate_response/avg_total_reward",),
        "reward/std": ("reward/evaluate_response/std_MathReward_reward",),
        "length/mean": ("generator/generate/avg_tokens_generated",),
        "learning_rate": ("rl_trainer/learning_rate",),
        "loss": ("rl_trainer/avg_loss",),
        "time/wait": ("main_perf/continuous_training/waiting_for_buffer/duration_avg_s",),
        "time/update": ("main_perf/continuous_training/train_step/duration_avg_s",),
        "time/step": ("main_perf/continuous_training/total_duration_avg_s",),
    }
)

TORCHTUNE: Final = keys(
    {
        "reward/mean": ("rewards",),
        "kl/reference": ("kl_loss",),
        "kl/update": ("approx_policy_kl",),
        "clip_ratio": ("clipfrac",),
        "length/mean": ("response_lengths",),
        "loss": ("loss",),
        "loss/policy": ("policy_loss",),
    }
)

OAT: Final = keys(
    {
        "reward/mean": ("actor/rewards", "actor/rewards_mean"),
        "reward/std": (Key("actor/rewards_std", "reward models"),),
        "kl/reference": ("train/kl3",),
        "kl/mismatch": ("kl_sample_train_v1",),
        "entropy": ("train/entropy",),
        "clip_ratio": ("train/pg_clipfrac",),
        "length/mean": ("actor/response_tok_len",),
        "grad_norm": ("train/policy_grad_norm",),
        "learning_rate": ("misc/lr",),
        "loss/policy": ("train/pg_loss",),
        "time/generate": ("actor/generate_time",),
        "time/update": ("train/total_time",),
        "time/sync": ("misc/weight_sync_elapse",),
    }
)

MINIMIND: Final = keys(
    {
        "reward/mean": ("Reward",),
        "kl/reference": ("KL_ref",),
        "length/mean": ("Avg Response Len",),
        "learning_rate": ("Learning Rate",),
        "loss/policy": ("Actor Loss",),
    }
)

LLAMA_FACTORY: Final = keys(
    {
        "reward/mean": ("reward",),
        "loss": ("loss",),
        "learning_rate": ("learning_rate", Key("lr", "trainer_log.jsonl")),
        "epoch": ("epoch",),
    }
)
