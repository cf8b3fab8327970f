"""Short logs made by hand in each framework's exact format, and the rows they hold."""

import math
from typing import NamedTuple

from support.log_oracle import Rows

UNKNOWN = -1


class Sample(NamedTuple):
    framework: str
    log: str
    rows: Rows
    step: int | None
    total: int | None = None
    complete: bool = False


SLIME = Sample(
    "slime",
    """\
(RolloutManager pid=68) [2026-07-20 17:53:16] rollout.py:1303 - perf 0: {'rollout/response_len/mean': 187.5, \
'rollout/zero_std/count_0.0': 5, 'perf/rollout_time': 262.25}
(MegatronTrainRayActor pid=70) [2026-07-20 17:53:24] data.py:193 - rollout 0: {'rollout/raw_reward': 0.25, \
'rollout/rewards': 1.25e-09, 'rollout/truncated': 0.0}
(MegatronTrainRayActor pid=70) [2026-07-20 17:53:30 actor_cell0_rank0] model.py:918 - step 0: {'train/loss': -0.5, \
'train/grad_norm': nan, 'train/lr-pg_0': 1e-06}
(MegatronTrainRayActor pid=70) [2026-07-20 17:53:31] train_metric_utils.py:177 - perf 0: {'perf/actor_train_time': 30.5}
(RolloutManager pid=68) [2026-07-20 17:58:16] rollout.py:247 - eval 0: {'eval/aime': 0.125}
(MegatronTrainRayActor pid=70) [2026-07-20 17:58:24] data.py:193 - rollout 1: {'rollout/raw_reward': 0.5}
""",
    [
        (
            0,
            {
                "rollout/response_len/mean": 187.5,
                "rollout/zero_std/count_0.0": 5.0,
                "perf/rollout_time": 262.25,
                "rollout/raw_reward": 0.25,
                "rollout/rewards": 1.25e-09,
                "rollout/truncated": 0.0,
                "train/loss": -0.5,
                "train/grad_norm": math.nan,
                "train/lr-pg_0": 1e-06,
                "perf/actor_train_time": 30.5,
                "eval/aime": 0.125,
            },
        ),
        (1, {"rollout/raw_reward": 0.5}),
    ],
    0,
)

OPENRLHF = Sample(
    "openrlhf",
    """\
Train epoch [1/1]:  50%|█████     | 1/2 [00:02<00:02,  1.1s/it, act_loss=-0.1, reward=0.4, gen_len=104, act_lr=1e-6]
(PPOTrainer pid=9) INFO 08-13 12:00:00 ppo_trainer.py:547] ✨ Global step 1: {'response_length': 40.5, 'reward': 0.25, \
'rollout/reward_std': 0.5, 'timing/generation': 2.5, 'actor_lr': 3.25e-06}
(PPOTrainer pid=9) INFO 08-13 12:00:09 ppo_trainer_async.py:244] Global step 2: {'response_length': 49.5, 'kl': nan}
""",
    [
        (
            1,
            {
                "response_length": 40.5,
                "reward": 0.25,
                "rollout/reward_std": 0.5,
                "timing/generation": 2.5,
                "actor_lr": 3.25e-06,
            },
        ),
        (2, {"response_length": 49.5, "kl": math.nan}),
    ],
    2,
)

OPENRLHF_OLD = Sample(
    "openrlhf",
    """\
\rTrain epoch [1/1]:  50%|█████     | 1/2 [00:02<00:02, pg=-0.0889, rm=0.411, glen=104, kl=0, act_lr=1.74e-6]
\rTrain epoch [1/1]: 100%|██████████| 2/2 [00:03<00:00, pg=-0.0889, rm=0.411, glen=104, kl=0, act_lr=1.74e-6]
\rTrain epoch [1/1]: 100%|██████████| 2/2 [00:03<00:00,  1.5s/it, pg=0.161, rm=nan, glen=126, kl=0.0244, act_lr=1.1e-6]
""",
    [
        (UNKNOWN, {"pg": -0.0889, "rm": 0.411, "glen": 104.0, "kl": 0.0, "act_lr": 1.74e-06}),
        (UNKNOWN, {"pg": 0.161, "rm": math.nan, "glen": 126.0, "kl": 0.0244, "act_lr": 1.1e-06}),
    ],
    None,
)

_SKY = "(skyrl_entrypoint pid=8) 2026-03-26 14:51:18.430 | INFO     | skyrl.train.trainer"
SKYRL = Sample(
    "skyrl",
    f"""\
{_SKY}:train:227 - Finished: 'generate', time cost: 78.47s
{_SKY}:postprocess_generator_output:776 - reward/avg_pass_at_5: 0.75, reward/avg_raw_reward: 0.25
{_SKY}:compute_advantages_and_returns:873 - avg_final_rewards: 0.125, avg_response_length: 273.5
{_SKY}:train:291 - Started: 'policy_train'
{_SKY}:train:210 - Finished: 'step', time cost: 1331.13s
{_SKY}:train:320 - {{'final_loss': -0.5, 'policy_lr': 1e-06, 'loss_metrics/clip_ratio': 0.25, 'grad_norm': inf}}
Training Batches Processed:  14%|█▍        | 1/7 [22:36<2:15:37, 1356.23s/it]
{_SKY}:train:227 - Finished: 'generate', time cost: 80.00s
""",
    [
        (
            UNKNOWN,
            {
                "timing/generate": 78.47,
                "reward/avg_pass_at_5": 0.75,
                "reward/avg_raw_reward": 0.25,
                "avg_final_rewards": 0.125,
                "avg_response_length": 273.5,
                "timing/step": 1331.13,
                "final_loss": -0.5,
                "policy_lr": 1e-06,
                "loss_metrics/clip_ratio": 0.25,
                "grad_norm": math.inf,
            },
        ),
    ],
    1,
    7,
)

SKYRL_CONSOLE = Sample(
    "skyrl",
    f"""\
{_SKY}:train:497 - {{'final_loss': -0.5, 'policy_lr': 1e-06}}
{_SKY}.utils.tracking:log:189 - Step 1:\x20
(skyrl_entrypoint pid=8) {{'generate/avg_num_tokens': '274.0000',
(OtherActor pid=9) {{'not': 'ours',
(skyrl_entrypoint pid=8)  'generate/max_num_tokens': 1024,
(skyrl_entrypoint pid=8)  'policy/policy_lr': '0.0000'}}
{_SKY}:train:497 - {{'final_loss': -0.25, 'policy_lr': 1e-06}}
{_SKY}.utils.tracking:log:189 - Step 2:\x20
(skyrl_entrypoint pid=8) {{'generate/avg_num_tokens': 'nan'}}
{_SKY}:train:601 - Training done!
""",
    [
        (1, {"generate/avg_num_tokens": 274.0, "generate/max_num_tokens": 1024.0, "policy/policy_lr": 0.0}),
        (2, {"generate/avg_num_tokens": math.nan}),
    ],
    2,
    complete=True,
)

EASYR1 = Sample(
    "easyr1",
    """\
(Runner pid=16) Step 1
(Runner pid=16) actor:
(Runner pid=16)   entropy_loss: 0.415
(Runner pid=16)   lr: 1.0e-06
(Runner pid=16) critic:
(Runner pid=16)   rewards:
(Runner pid=16)     max: 1.0
(Runner pid=16)     mean: .nan
(WorkerDict pid=17) loading
(Runner pid=16)     min: -.inf
(Runner pid=16) timing_s:
(Runner pid=16)   gen: 72.0
(Runner pid=16)   old: nan
(Runner pid=16)
(Runner pid=16) Step 2
(Runner pid=16) actor:
(Runner pid=16)   lr: 2.0e-06
(Runner pid=16) done: 5
(Runner pid=16)   other: 6
""",
    [
        (
            1,
            {
                "actor/entropy_loss": 0.415,
                "actor/lr": 1e-06,
                "critic/rewards/max": 1.0,
                "critic/rewards/mean": math.nan,
                "critic/rewards/min": -math.inf,
                "timing_s/gen": 72.0,
                "timing_s/old": math.nan,
            },
        ),
        (2, {"actor/lr": 2e-06}),
    ],
    2,
)

EASYR1_FILE = Sample(
    "easyr1",
    """\
{"step": 1, "actor": {"lr": 1e-06, "pg_loss": NaN}, "critic": {"rewards": {"mean": 0.25}}, "epoch": 0}
{"step": 2, "val": {"reward_score": 0.5}}
{"step": 3, "data": {"actor/lr": 1.0}}
""",
    [
        (1, {"actor/lr": 1e-06, "actor/pg_loss": math.nan, "critic/rewards/mean": 0.25, "epoch": 0.0}),
        (2, {"val/reward_score": 0.5}),
    ],
    2,
)

PRIME_RL = Sample(
    "prime-rl",
    """\
\x1b[2m16:41:11\x1b[0m \x1b[32m\x1b[1mSUCCESS\x1b[0m \x1b[32m\x1b[1m\x1b[22mStep 1 |   1m 5s | Loss 0.0012 | \
Mismatch KL 0.0249 | Grad. Norm 0.0560 | LR 1.00e-06 | Throughput 8712 tokens/s | MFU 5.4% | Peak Mem. 89.6 GiB\x1b[0m
22:43:19 SUCCESS [train] Step 1 | 22.5s | Reward 0.5000 | Trainable 2/4 (50.0%) | Max Off-Policy 1 | Truncation 3.0%
                 ╰─ gsm8k | Ratio 50.0% | Reward 0.5000
22:43:29 SUCCESS Evaluated gsm8k (Step 1) | Policy v1 |   450ms | Reward 0.2500 | Turns 3.1
22:43:30    INFO Step 2 | Time: 64.20s | Reward: 0.48 | Throughput: 8712 tokens/s
22:45:34 SUCCESS Orchestrator finished.
""",
    [
        (
            1,
            {
                "step_time": 65.0,
                "Loss": 0.0012,
                "Mismatch KL": 0.0249,
                "Grad. Norm": 0.056,
                "LR": 1e-06,
                "Throughput": 8712.0,
                "MFU": 5.4,
                "Peak Mem.": 89.6,
                "orchestrator/step_time": 22.5,
                "Reward": 0.5,
                "Trainable": 2.0,
                "Trainable of": 4.0,
                "Max Off-Policy": 1.0,
                "Truncation": 3.0,
                "eval/gsm8k/step_time": 0.45,
                "eval/gsm8k/Reward": 0.25,
                "eval/gsm8k/Turns": 3.1,
            },
        ),
        (2, {"orchestrator/step_time": 64.2, "Reward": 0.48, "Throughput": 8712.0}),
    ],
    2,
    complete=True,
)

PRIME_RL_FILE = Sample(
    "prime-rl",
    """\
{"step": 7, "time": 1787000000.5, "time/step": 20.5, "time/pack": 0.5, "train/agg/all/reward/mean": 0.25}
{"step": 7, "time": 1787000001.5, "time/step": 30.5, "time/forward_backward": 12.5, "optim/lr": 1e-06}
{"step": 9, "time": 1787000002.5, "eval/gsm8k/reward/mean": 0.75}
""",
    [
        (
            7,
            {
                "orchestrator/time/step": 20.5,
                "time/pack": 0.5,
                "train/agg/all/reward/mean": 0.25,
                "time/step": 30.5,
                "time/forward_backward": 12.5,
                "optim/lr": 1e-06,
            },
        ),
        (9, {"eval/gsm8k/reward/mean": 0.75}),
    ],
    7,
)

_RULE = "=" * 25
NEMO_RL = Sample(
    "nemo-rl",
    f"""\
{_RULE} Epoch 1/2 {_RULE}
{_RULE} Step 1/2 {_RULE}
📊 Validation Results:
    • Accuracy: 0.1250
    • Average response length: 512.5 tokens
📊 Training Results:
  • Loss: -0.5000
  • Avg Reward: nan
⏱️  Timing:
  • Total step time: 35.70s
  • prepare_for_generation/total: 2.20s (6.2%)
(VllmGenerationWorker pid=3) INFO something
🔍 Performance Metrics:
  • Average Token Imbalance: 12.50%
  • Throughputs (per GPU):
    - E2E (Tokens/sec/gpu): 1073.59
📊 Buffer requirements calculation:
  • Buffer Size: 4
{_RULE} Step 2/2 {_RULE}
📊 Training Results:
  • Loss: 0.2500
{_RULE} Epoch 2/2 {_RULE}
{_RULE} Step 1/2 {_RULE}
📊 Training Results:
  • Loss: 0.1250
""",
    [
        (
            1,
            {
                "validation/Accuracy": 0.125,
                "validation/Average response length": 512.5,
                "Loss": -0.5,
                "Avg Reward": math.nan,
                "Total step time": 35.7,
                "prepare_for_generation/total": 2.2,
                "Average Token Imbalance": 12.5,
                "E2E (Tokens/sec/gpu)": 1073.59,
            },
        ),
        (2, {"Loss": 0.25}),
        (3, {"Loss": 0.125}),
    ],
    3,
)

AREAL = Sample(
    "areal",
    """\
\x1b[92m\x1b[1;38;2;180;140;80m(AReaL)\x1b[0m \x1b[92m20261129-16:41:10.841 StatsLogger INFO: Epoch 1/10 Step 1/29 \
Train step 1/290 done.\x1b[0m
(AReaL) 20261129-16:41:10.841 StatsLogger INFO: Stats (1/1):
(AReaL) 20261129-16:41:10.842 StatsLogger INFO:\x20
╒═════════════════════╤════════════╤══════════════════╤════════════╕
│ rollout/reward       │ 8.4442e-01 │ timeperf/rollout │ 3.0000e+01 │
├─────────────────────┼────────────┼──────────────────┼────────────┤
│ ppo_actor/lr         │        nan │                  │            │
╘═════════════════════╧════════════╧══════════════════╧════════════╛
(AReaL) 20261129-16:41:12.841 StatsLogger INFO: Epoch 1/10 Step 2/29 Train step 2/290 done.
╒═════════════════════╤════════════╕
│ rollout/reward       │ 1.0000e+00 │
╘═════════════════════╧════════════╛
(AReaL) 20261129-16:41:13.841 StatsLogger INFO: Training completes! Total time elapsed 12.34.
""",
    [
        (1, {"rollout/reward": 0.84442, "timeperf/rollout": 30.0, "ppo_actor/lr": math.nan}),
        (2, {"rollout/reward": 1.0}),
    ],
    2,
    290,
    complete=True,
)

_ROLL = "[2026-08-19 12:00:00] [rlvr_pipeline.py (838)] [INFO] [DRIVER 0 / 1][PID 42]"
ROLL = Sample(
    "roll",
    f"""\
{_ROLL} pipeline step 0 start...
{_ROLL} [{{"prompt": "1 + 1", "response": "2"}}]
{_ROLL} metrics_tag: {{"step": 0, "metrics": {{"system/global_step": 0, "critic/kl": 0.25, "system/tps": 1402.5}}}}
{_ROLL} {{"system/global_step": 0, "critic/kl@mean": 0.25, "token/length/max@max": 2048.0}}
{_ROLL} pipeline step 0 finished
{_ROLL} pipeline step 1 start...
{_ROLL} {{"critic/kl": NaN, "critic/score/mean": 0.5, "time/step_total": 70.25}}
{_ROLL} pipeline complete!
""",
    [
        (0, {"system/global_step": 0.0, "critic/kl": 0.25, "system/tps": 1402.5, "token/length/max": 2048.0}),
        (1, {"critic/kl": math.nan, "critic/score/mean": 0.5, "time/step_total": 70.25}),
    ],
    0,
    complete=True,
)

OPEN_INSTRUCT = Sample(
    "open-instruct",
    """\
╭──────────────────────────────── Metrics ────────────────────────────────╮
│  loss       policy_avg: -0.01 | total_avg: nan                          │
│  other      episode: 512 | training_step: 1 | epoch:                    │
│             0.01 | lr: 5.00e-07 | scores: 0.41 |                        │
│             real_batch_size_ratio: 1.00                                 │
│  val        sequence_lengths: 1401.20                                   │
╰─────────────────────────────────────────────────────────────────────────╯
╭── Other ──╮
│  other      scores: 1 │
╰───────────╯
""",
    [
        (
            1,
            {
                "loss/policy_avg": -0.01,
                "loss/total_avg": math.nan,
                "episode": 512.0,
                "training_step": 1.0,
                "epoch": 0.01,
                "lr": 5e-07,
                "scores": 0.41,
                "real_batch_size_ratio": 1.0,
                "val/sequence_lengths": 1401.2,
            },
        ),
    ],
    1,
)

TORCHFORGE = Sample(
    "torchforge",
    """\
INFO:forge.util.logging: === [GlobalReduce] - METRICS STEP 1 ===
  buffer/sample/avg_data_utilization: 0.4
  rl_trainer/learning_rate: 1e-05
==============================
  rl_trainer/learning_rate: 5
=== [GlobalReduce] - METRICS STEP 2 ===
  rl_trainer/avg_loss: nan
""",
    [
        (1, {"buffer/sample/avg_data_utilization": 0.4, "rl_trainer/learning_rate": 1e-05}),
        (2, {"rl_trainer/avg_loss": math.nan}),
    ],
    2,
)

TORCHTUNE = Sample(
    "torchtune",
    """\
Step 1 | rewards:0.31 successes:0.2 kl_loss:0.0003\x20
Step 2 | rewards:nan loss:0.001\x20
Step 2 | train_worker_training/loss:0.5\x20
Step 3 | go to: loss:5
""",
    [
        (1, {"rewards": 0.31, "successes": 0.2, "kl_loss": 0.0003}),
        (2, {"rewards": math.nan, "loss": 0.001, "train_worker_training/loss": 0.5}),
    ],
    2,
)

OAT = Sample(
    "oat",
    """\
{
│   'actor/rewards': 0.42,
│   'misc/global_step': 1.0,
│   'train/entropy': nan
}
{'actor/rewards': 0.5,
 'misc/global_step': 2.0}
{'no_step': 1.0}
""",
    [
        (1, {"actor/rewards": 0.42, "misc/global_step": 1.0, "train/entropy": math.nan}),
        (2, {"actor/rewards": 0.5, "misc/global_step": 2.0}),
    ],
    2,
)

MINIMIND = Sample(
    "minimind",
    """\
Epoch:[1/2](1/2), Reward: -2.2258, KL_ref: -0.0035, Learning Rate: 0.00000030
Epoch:[1/2](2/2), Reward: nan, KL_ref: 0.0924
Epoch:[2/2](1/2), Reward: 0.5000
Epoch:[2/2](2/2), Reward: 0.7500
""",
    [
        (1, {"Reward": -2.2258, "KL_ref": -0.0035, "Learning Rate": 3e-07}),
        (2, {"Reward": math.nan, "KL_ref": 0.0924}),
        (3, {"Reward": 0.5}),
        (4, {"Reward": 0.75}),
    ],
    4,
    4,
    complete=True,
)

LLAMA_FACTORY = Sample(
    "llama-factory",
    """\
 10%|█         | 1/10 [00:03<00:30]{'loss': 0.2, 'reward': 0.36, 'learning_rate': 1e-05, 'epoch': 0.1}
{'loss': 0.25, 'reward': nan, 'learning_rate': 1e-05, 'epoch': 0.2}
{'loss': 0.25, 'grad_norm': 1.0, 'learning_rate': 1e-05, 'epoch': 0.3}
""",
    [
        (UNKNOWN, {"loss": 0.2, "reward": 0.36, "learning_rate": 1e-05, "epoch": 0.1}),
        (UNKNOWN, {"loss": 0.25, "reward": math.nan, "learning_rate": 1e-05, "epoch": 0.2}),
    ],
    None,
)

LLAMA_FACTORY_FILE = Sample(
    "llama-factory",
    """\
{"current_steps": 5, "total_steps": 10, "loss": 0.5, "lr": 1e-05, "epoch": 0.5, "percentage": 50.0, \
"elapsed_time": "0:00:12"}
{"current_steps": 10, "total_steps": 10, "epoch": 1.0, "percentage": 100.0}
""",
    [
        (5, {"loss": 0.5, "lr": 1e-05, "epoch": 0.5, "percentage": 50.0}),
        (10, {"epoch": 1.0, "percentage": 100.0}),
    ],
    10,
    10,
    complete=True,
)

SAMPLES = (
    *(SLIME, OPENRLHF, OPENRLHF_OLD, SKYRL, SKYRL_CONSOLE, EASYR1, EASYR1_FILE, PRIME_RL, PRIME_RL_FILE, NEMO_RL),
    *(AREAL, ROLL, OPEN_INSTRUCT, TORCHFORGE, TORCHTUNE, OAT, MINIMIND, LLAMA_FACTORY, LLAMA_FACTORY_FILE),
)
