"""How the cost of a step grows: one size varied at a time, the exact step against the sampled one, time and memory.

    python benchmarks/growth.py [--out benchmarks/growth.json] [--rounds 15]

The exact step is that of `training.descend`, the sampled one that of `training.descend_online` with N = 100, both in
NumPy on one thread, so that no other library is needed. Times and turns are those of step_cost.py. Peak memory is what
a step holds beyond what it keeps from step to step. A step of the two scalars is timed as well.
"""
# ruff: noqa: I001 - step_cost asks for one thread before NumPy loads

import step_cost

import argparse
import json
import os
import platform
from pathlib import Path

import numpy as np
from bilinear import dynamics

BASE = {"d": 8, "D": 256, "M": 8, "K": 4}
VARIED = {
    "D": (32, 64, 128, 256, 512, 1024, 2048),
    "d": (8, 32, 128, 512),
    "M": (8, 32, 128, 512),
}
SAMPLED_LIMIT = 2e8  # entries of the inputs and labels of one batch: beyond this the sampled step is left out


def measure(size, rounds):
    """Median seconds with quartiles, and peak memory in bytes, of both steps."""
    teacher, student = step_cost.pair(size["d"], size["D"], size["M"], size["K"])
    contestants = {"exact": step_cost.descend_step(teacher, student)}
    if step_cost.BATCH * size["D"] * (size["d"] + size["M"]) <= SAMPLED_LIMIT:
        contestants["sampled"] = step_cost.online_step(teacher, student)
    seconds = step_cost.time_in_turns(list(contestants.values()), rounds)
    low, middle, high = np.percentile(seconds, [25, 50, 75], axis=0)
    arrays = 8 * size["D"] ** 2
    return size | {
        name: {
            "median seconds": float(middle[index]),
            "quartiles": [float(low[index]), float(high[index])],
            "peak bytes": round(step_cost.peak_memory(call, size["D"]) * arrays),
        }
        for index, (name, call) in enumerate(contestants.items())
    }


def measure_scalars(rounds, steps=20_000):
    """Median seconds of one step of the two scalars, with quartiles: slope 1, another slope, and a sweep."""
    one, bent = dynamics.Reduced(1024, 16, 16.0, 1.0), dynamics.Reduced(1024, 16, 16.0, 0.1)
    sweep = dynamics.Reduced(1024, 16, np.full(1000, 16.0), 0.1)
    contestants = {
        "slope 1": (lambda: one.run(1e-3, steps), steps),
        "slope 0.1": (lambda: bent.run(1e-3, steps), steps),
        "1000 settings at once": (lambda: sweep.run(1e-3, steps // 100), steps // 100),
    }
    seconds = step_cost.time_in_turns([call for call, _ in contestants.values()], rounds)
    quartiles = np.percentile(seconds, [25, 50, 75], axis=0) / [count for _, count in contestants.values()]
    return {
        name: {"median seconds": float(middle), "quartiles": [float(low), float(high)]}
        for name, (low, middle, high) in zip(contestants, quartiles.T, strict=True)
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the results there as JSON")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    growth = {}
    for name, values in VARIED.items():
        growth[name] = [measure(BASE | {name: value}, options.rounds) for value in values]
        for row in growth[name]:
            steps = {step: row[step] for step in ("exact", "sampled") if step in row}
            text = ", ".join(
                f"{step} {step_cost.readable(cost['median seconds'])}, {cost['peak bytes'] / 1e6:.2f} MB"
                for step, cost in steps.items()
            )
            print(f"{name} = {row[name]}: {text}")
    scalars = measure_scalars(options.rounds)
    for name, cost in scalars.items():
        print(f"a step of the two scalars, {name}: {step_cost.readable(cost['median seconds'])}")
    report = {
        "processor": step_cost.processor(),
        "cores": os.cpu_count(),
        "load at the end": os.getloadavg()[0],
        "versions": {"python": platform.python_version(), "numpy": np.__version__},
        "batch": step_cost.BATCH,
        "threads": 1,
        "growth": growth,
        "two scalars": scalars,
    }
    if options.out:
        options.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
