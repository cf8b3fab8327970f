"""Slow and obvious readers of the other frameworks' logs: whole files, one line at a time, `eval` where they may."""

import json
import math
import re
import struct
from base64 import b64decode
from collections.abc import Callable, Iterable

from support.log_oracle import Rows, lines

UNKNOWN = -1


def merged(found: Iterable[tuple[int, dict[str, float]]]) -> Rows:
    rows: Rows = []
    for step, row in found:
        known = next((old for at, old in rows if at == step != UNKNOWN), None)
        if known is None:
            rows.append((step, dict(row)))
        else:
            known.update(row)
    return rows


def evaluated(text: str) -> dict[str, float]:
    """A printed dictionary. The logs are our own copies, so evaluating them is safe."""
    found = eval(text.replace(", ...}", "}"), {"__builtins__": {}}, {"nan": math.nan, "inf": math.inf})
    return {key: float(value) for key, value in found.items()}


def slime(data: bytes) -> Rows:
    found = []
    for line in lines(data):
        head, _, body = line.partition(" - ")[2].partition(": ")
        found.append((int(head.split()[1]), evaluated(body)))
    return merged(found)


def openrlhf(data: bytes) -> Rows:
    found = []
    for line in lines(data):
        if "Global step" in line:
            head, _, body = line.partition("Global step ")[2].partition(": ")
            found.append((int(head), evaluated(body)))
    return merged(found)


def openrlhf_bars(data: bytes) -> Rows:
    found = []
    for line in lines(data):
        if "pg=" in line:
            fields = line[line.rindex("[") + 1 : -1].split(", ")[1:]
            found.append((UNKNOWN, {key: float(value) for key, value in (field.split("=") for field in fields)}))
    return merged(found)


def skyrl(data: bytes) -> Rows:
    found, row = [], {}
    for line in lines(data):
        message = line.partition(" - ")[2]
        if message.startswith("Finished: "):
            row["timing/" + message.split("'")[1]] = float(message.split()[-1].rstrip("s"))
        elif "avg_final_rewards" in message or "avg_raw_reward" in message:
            row |= {key: float(value) for key, value in (field.split(": ") for field in message.split(", "))}
        elif message.startswith("{"):
            found.append((UNKNOWN, row | evaluated(message)))
            row = {}
    return merged(found)


def skyrl_console(data: bytes) -> Rows:
    blocks = re.split(r"(?m)^.* - Step (\d+): $", data.decode())[1:]
    return merged((int(step), evaluated(body.strip())) for step, body in zip(blocks[::2], blocks[1::2], strict=True))


def easyr1(data: bytes) -> Rows:
    """Only files in which every number of NumPy is of eight bytes."""
    found: list[tuple[int, dict[str, float]]] = []
    path: list[str] = []
    binary = False
    for line in lines(data):
        entry = re.fullmatch(r"( *)(\w+):( .*)?", line)
        if line.startswith("Step "):
            found.append((int(line.split()[1]), {}))
        elif binary:
            found[-1][1]["/".join(path)] = struct.unpack("<d", b64decode(line.strip()))[0]
        elif entry and entry[2] not in {"args", "state"}:
            path[len(entry[1]) // 2 :] = [entry[2]]
            if entry[3] and not entry[3].startswith(" !!"):
                found[-1][1]["/".join(path)] = float(entry[3])
        binary = line.endswith("!!binary |")
    return merged(found)


def prime_rl(data: bytes) -> Rows:
    found = []
    for line in lines(data):
        head, *fields = [field.strip() for field in line.split("|")]
        if not fields:
            continue
        trainer = fields[1].startswith("Loss")
        row = {"step_time" if trainer else "orchestrator/step_time": seconds(fields[0])}
        for field in fields[1:]:
            key, text = re.fullmatch(r"(\D*) (\S*\d\S*)( .*)?", field).group(1, 2)  # type: ignore[union-attr]
            row[key] = float(text.partition("/")[0].rstrip("%"))
            if "/" in text:
                row[key + " of"] = float(text.partition("/")[2])
        found.append((int(head.split("Step ")[1]), row))
    return merged(found)


def seconds(text: str) -> float:
    return sum(float(part[:-1]) * {"m": 60, "s": 1}[part[-1]] for part in text.split())


def nemo_rl(data: bytes) -> Rows:
    row = {}
    for line in lines(data):
        bullet = re.fullmatch(r"\s*[•-] (.*): ([0-9.]+)s?( .*)?", line)
        if bullet:
            row[bullet[1]] = float(bullet[2])
    return [(UNKNOWN, row)]


def areal(data: bytes) -> Rows:
    found: list[tuple[int, dict[str, float]]] = []
    for line in lines(data):
        if "Train step" in line:
            found.append((int(line.split("Train step ")[1].split("/")[0]), {}))
        cells = [cell.strip() for cell in line.split("│")[1:-1]]
        for key, text in zip(cells[::2], cells[1::2], strict=False):
            if key and text != "ignored":
                found = found or [(UNKNOWN, {})]
                found[-1][1][key] = float(text)
    return merged(found)


def roll(data: bytes) -> Rows:
    rows = [json.loads(line[line.index("{") :]) for line in lines(data) if "[PID" in line and "{" in line]
    metrics = [row.get("metrics", row) for row in rows]
    return merged((row["system/global_step"], {key: float(value) for key, value in row.items()}) for row in metrics)


def open_instruct(data: bytes) -> Rows:
    found = []
    for panel in data.decode().split("╭")[1:]:
        text = ""
        for line in panel.split("\n")[1:]:
            inner = line.strip("│").rstrip()
            category = re.match(r"  (\w+)  ", inner)
            text += f" | @{category[1]} {inner[13:]}" if category else f" {inner.strip()}"
        row, name = {}, ""
        for field in text.partition(" ╰")[0].split(" | "):
            parts = field.strip(" |").split(" ")
            if parts[0].startswith("@"):
                name = parts.pop(0)[1:] + "/"
                name = "" if name == "other/" else name
            if len(parts) > 1:
                row[name + parts[0].rstrip(":")] = float(parts[-1])
        found.append((int(row["training_step"]), row))
    return merged(found)


def torchforge(data: bytes) -> Rows:
    found: list[tuple[int, dict[str, float]]] = []
    for line in lines(data):
        if "METRICS STEP" in line:
            found.append((int(line.split()[-2]), {}))
        elif line.startswith("  "):
            key, _, text = line.strip().partition(": ")
            found[-1][1][key] = float(text)
    return merged(found)


def torchtune(data: bytes) -> Rows:
    found = []
    for line in lines(data):
        head, _, body = line.partition(" | ")
        if body:
            fields = (field.split(":") for field in body.split())
            found.append((int(head.split()[1]), {key: float(value) for key, value in fields}))
    return merged(found)


def oat(data: bytes) -> Rows:
    rows = [evaluated(block) for block in data.decode().split("\n\n") if block.strip()]
    return merged((int(row["misc/global_step"]), row) for row in rows)


def minimind(data: bytes) -> Rows:
    found = []
    for line in lines(data):
        if line.startswith("Epoch:["):
            head, *fields = line.split(", ")
            row = {key: float(value) for key, value in (field.split(": ") for field in fields)}
            found.append((int(head.split("(")[1].split("/")[0]), row))
    return merged(found)


def llama_factory(data: bytes) -> Rows:
    return [(UNKNOWN, evaluated(line)) for line in lines(data) if line]


ORACLES: dict[str, tuple[str, Callable[[bytes], Rows]]] = {
    "slime-1.log": ("slime", slime),
    "openrlhf-1.log": ("openrlhf", openrlhf),
    "openrlhf-3-fixture.log": ("openrlhf", openrlhf_bars),
    "skyrl-1.log": ("skyrl", skyrl),
    "prime-rl-1.log": ("prime-rl", prime_rl),
    "nemo-rl-1.log": ("nemo-rl", nemo_rl),
    "areal-1-fixture.log": ("areal", areal),
    "minimind-1.log": ("minimind", minimind),
    "synthetic/areal.log": ("areal", areal),
    "synthetic/easyr1-console.log": ("easyr1", easyr1),
    "synthetic/llamafactory-ppo.log": ("llama-factory", llama_factory),
    "synthetic/oat.log": ("oat", oat),
    "synthetic/open-instruct-w80.log": ("open-instruct", open_instruct),
    "synthetic/open-instruct-w200.log": ("open-instruct", open_instruct),
    "synthetic/prime-rl.log": ("prime-rl", prime_rl),
    "synthetic/roll.log": ("roll", roll),
    "synthetic/skyrl-console.log": ("skyrl", skyrl_console),
    "synthetic/torchforge.log": ("torchforge", torchforge),
    "synthetic/torchtune.log": ("torchtune", torchtune),
}
"""By file below the data directory's `frameworks`."""
