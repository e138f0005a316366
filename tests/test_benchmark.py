"""benchmarks/step_cost.py: it times the library's steps, its record keeps the limits, and its page shows the record."""

import importlib.util
import json
import os
from pathlib import Path

import numpy as np
import pytest
from bilinear import Student, training

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
RECORD = json.loads((FOLDER / "step_cost.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def step_cost():
    before = dict(os.environ)  # the benchmark asks for one thread when it is imported
    spec = importlib.util.spec_from_file_location("step_cost", FOLDER / "step_cost.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    os.environ.clear()
    os.environ.update(before)
    return module


def test_the_exact_step_is_the_librarys(step_cost):
    teacher, student = step_cost.pair(5, 36, 3, 4)
    value, logits = step_cost.descend_step(teacher, student)()
    after = training.descend(teacher, step_cost.STEP_SIZE, 1, student=student).student
    np.testing.assert_allclose(value, after.value, rtol=1e-13)
    np.testing.assert_allclose(logits, after.logits, rtol=1e-12, atol=1e-15)


def test_the_online_step_is_the_librarys(step_cost):
    teacher, student = step_cost.pair(5, 36, 3, 4)
    value, logits = step_cost.online_step(teacher, student)()
    options = {"batch": step_cost.BATCH, "noise": step_cost.NOISE, "student": student, "record": [0]}
    after = training.descend_online(teacher, step_cost.STEP_SIZE, 1, np.random.default_rng(1), **options).student
    np.testing.assert_allclose(value, after.value, rtol=1e-13)
    np.testing.assert_allclose(logits, after.logits, rtol=1e-12, atol=1e-15)
    assert isinstance(after, Student)


def test_the_record_keeps_the_limits():
    assert [result["d, D, M, K"][:3] for result in RECORD["results"]] == [[5, 36, 3], [9, 81, 16], [16, 1024, 16]]
    assert RECORD["processor"] and RECORD["threads"] == 1 and RECORD["batch"] == 100
    for result in RECORD["results"]:
        assert result["peak memory of the gradient, D x D arrays"] <= 6
        for name in ("PyTorch step, float32", "PyTorch step, float64"):
            assert result["steps"][name]["times the exact gradient"] >= 10
    assert RECORD["results"][-1]["exact gradient / np.exp"] <= 10


def test_the_page_shows_the_record(step_cost):
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    for part in (step_cost.limits(RECORD["results"]), step_cost.table(RECORD["results"]), RECORD["processor"]):
        assert part in page


def test_turns_and_memory(step_cost):
    seconds = step_cost.time_in_turns([lambda: None, lambda: np.ones(10**6)], rounds=3, least=1e-4)
    assert seconds.shape == (3, 2) and (seconds >= 0).all()
    assert step_cost.peak_memory(lambda: np.ones((300, 300)), 100) == pytest.approx(9, rel=0.01)
