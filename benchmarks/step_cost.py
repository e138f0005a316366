"""What one step of training costs: the exact gradient against the paper's protocol in PyTorch and in NumPy.

    python benchmarks/step_cost.py [--out benchmarks/step_cost.json] [--rounds 60]

The paper's protocol draws N = 100 fresh Gaussian inputs with label noise each step and differentiates the mean squared
error automatically. Everything runs on one thread, and the time is the processor's, not the clock's, so that time given
to other programs does not count. The contestants take turns within a round, so that whatever else the machine does
meets all of them; the table shows medians over the rounds, the quartiles, and the median of the ratios within a round.
PyTorch is needed here alone: pip install -e ".[benchmark]".
"""
# ruff: noqa: E402 - the number of threads is set before NumPy and PyTorch load

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import json
import platform
import time
import tracemalloc
from pathlib import Path

import bilinear as bl
import numpy as np

SIZES = ((5, 36, 3, 4), (9, 81, 16, 9), (16, 1024, 16, 16))  # d, D, M, K
SLOPE, BATCH, NOISE, STEP_SIZE = 0.1, 100, 0.1, 1e-3


def pair(d, D, M, K):
    """A convolution with average pooling, and a student at random."""
    rng = np.random.default_rng(0)
    teacher = bl.teachers.convolution_with_pooling(rng.standard_normal((M, d)), np.arange(D).reshape(-1, K), SLOPE)
    return teacher, bl.Student(rng.standard_normal((M, d)), rng.standard_normal((D, D)), slope=SLOPE)


def descend_step(teacher, student):
    """One step of training.descend, without its records."""
    D = teacher.D
    value, logits, change = student.value.copy(), student.logits, np.empty((D, D))

    def step():
        d_value, _ = bl.population.gradient_of_blocks(teacher, value, logits, STEP_SIZE / D, out=change)
        np.subtract(value, STEP_SIZE * d_value, out=value)
        np.subtract(logits, change, out=logits)
        return value, logits

    return step


def online_step(teacher, student):
    """One step of training.descend_online, without its records."""
    D = teacher.D
    rng, value, logits = np.random.default_rng(1), student.value.copy(), student.logits

    def step():
        inputs = rng.standard_normal((BATCH, teacher.d, D))
        labels = teacher(inputs)
        labels += NOISE * rng.standard_normal(labels.shape)
        scores = bl.softmax(logits)
        _, d_value, d_scores = bl.training.batch_gradient(inputs, labels, value, scores, SLOPE)
        np.subtract(value, STEP_SIZE * d_value, out=value)
        d_scores -= np.einsum("ji,ji->i", d_scores, scores)
        d_scores *= scores
        d_scores *= STEP_SIZE / D
        np.subtract(logits, d_scores, out=logits)
        return value, logits

    return step


def torch_step(teacher, student, dtype):
    """One step of the paper's protocol: fresh samples, forward, automatic differentiation, SGD on both blocks."""
    import torch

    torch.set_num_threads(1)
    dtype = getattr(torch, dtype)
    random = torch.Generator().manual_seed(1)
    wanted, target = torch.tensor(teacher.value, dtype=dtype), torch.tensor(teacher.scores, dtype=dtype)
    value = torch.tensor(student.value, dtype=dtype, requires_grad=True)
    key_query = torch.tensor(student.key_query, dtype=dtype, requires_grad=True)
    optimiser = torch.optim.SGD([value, key_query], lr=STEP_SIZE)
    activation, root = torch.nn.functional.leaky_relu, teacher.D**0.5

    def step():
        with torch.no_grad():
            inputs = torch.randn(BATCH, teacher.d, teacher.D, generator=random, dtype=dtype)
            labels = activation(wanted @ inputs @ target, SLOPE)
            labels += NOISE * torch.randn(labels.shape, generator=random, dtype=dtype)
        outputs = activation(value @ inputs @ torch.softmax(key_query / root, dim=0), SLOPE)
        loss = ((labels - outputs) ** 2).sum() / (2 * BATCH)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    return step


def time_in_turns(contestants, rounds, least=2e-3):
    """Processor seconds of one call, array (rounds, contestants); short calls are repeated to fill `least` seconds."""
    repeats = []
    for call in contestants:
        call()
        start = time.process_time()
        call()
        repeats.append(max(1, round(least / (time.process_time() - start))))
    seconds = np.empty((rounds, len(contestants)))
    for row in seconds:
        for index, (call, repeat) in enumerate(zip(contestants, repeats, strict=True)):
            if repeat > 1:
                call()  # short calls find their data in the cache, as in a run; the one before has filled it
            start = time.process_time()
            for _ in range(repeat):
                call()
            row[index] = (time.process_time() - start) / repeat
    return seconds


def peak_memory(call, D):
    """The most memory that a call holds at once, in D x D arrays of float64."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / (8 * D * D)


def measure(size, rounds):
    teacher, student = pair(*size)
    D = size[1]
    array = np.random.default_rng(2).standard_normal((D, D))
    contestants = {
        "exact gradient": lambda: bl.population.gradient(teacher, student),
        "exact step of descend": descend_step(teacher, student),
        "NumPy online step": online_step(teacher, student),
        "PyTorch step, float32": torch_step(teacher, student, "float32"),
        "PyTorch step, float64": torch_step(teacher, student, "float64"),
        "np.exp of D x D": lambda: np.exp(array),
    }
    seconds = time_in_turns(list(contestants.values()), rounds if D < 500 else max(5, rounds // 4))
    low, middle, high = np.percentile(seconds, [25, 50, 75], axis=0)
    ratios = np.median(seconds / seconds[:, :1], axis=0)
    fresh = pair(*size)  # a teacher about which nothing has been kept yet
    return {
        "d, D, M, K": size,
        "exact gradient / np.exp": float(1 / ratios[-1]),
        "peak memory of the gradient, D x D arrays": peak_memory(lambda: bl.population.gradient(*fresh), D),
        "steps": {
            name: {
                "median seconds": float(middle[index]),
                "quartiles": [float(low[index]), float(high[index])],
                "times the exact gradient": float(ratios[index]),
            }
            for index, name in enumerate(contestants)
        },
    }


def processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def readable(seconds):
    return f"{1e6 * seconds:.1f} us" if seconds < 1e-3 else f"{1e3 * seconds:.2f} ms"


def table(results):
    """The results as a Markdown table."""
    lines = [
        "| (d, D, M) | step | median | quartiles | times the exact gradient |",
        "|---|---|---:|---:|---:|",
    ]
    for result in results:
        d, D, M, _ = result["d, D, M, K"]
        for name, row in result["steps"].items():
            low, high = map(readable, row["quartiles"])
            middle = readable(row["median seconds"])
            ratio = row["times the exact gradient"]
            lines.append(f"| ({d}, {D}, {M}) | {name} | {middle} | {low} to {high} | {ratio:.3g} |")
    return "\n".join(lines)


def limits(results):
    """What the limits of the library are about, as a Markdown table."""
    lines = [
        "| (d, D, M) | PyTorch float32 / exact gradient | exact gradient / np.exp | peak memory, D x D arrays |",
        "|---|---:|---:|---:|",
    ]
    for result in results:
        d, D, M, _ = result["d, D, M, K"]
        ratio = result["steps"]["PyTorch step, float32"]["times the exact gradient"]
        exp, peak = result["exact gradient / np.exp"], result["peak memory of the gradient, D x D arrays"]
        lines.append(f"| ({d}, {D}, {M}) | {ratio:.1f} | {exp:.1f} | {peak:.1f} |")
    return "\n".join(lines)


def main():
    import torch

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the results there as JSON")
    parser.add_argument("--rounds", type=int, default=60)
    options = parser.parse_args()
    results = [measure(size, options.rounds) for size in SIZES]
    report = {
        "processor": processor(),
        "cores": os.cpu_count(),
        "load at the end": os.getloadavg()[0],
        "versions": {"python": platform.python_version(), "numpy": np.__version__, "torch": torch.__version__},
        "batch": BATCH,
        "threads": 1,
        "results": results,
    }
    print(f"{report['processor']}, one thread; load {report['load at the end']:.1f} on {report['cores']} cores")
    print(f"{table(results)}\n\n{limits(results)}")
    if options.out:
        options.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
