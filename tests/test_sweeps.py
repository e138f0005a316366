"""bilinear.sweeps: the same numbers in one process, in two, and on a Dask cluster; resumed; bad input."""

import math
from pathlib import Path

import pytest
from bilinear import scaling, sweeps

POINTS = [{"D": D, "K": 2, "slope": slope} for D in (6, 20) for slope in (0.0, 1.0)]


def counted(x, folder):
    """sqrt(x), and one line in a file for each time it was really computed; refuses a negative x."""
    with Path(folder, "calls").open("a") as calls:
        calls.write(f"{x}\n")
    return math.sqrt(x)


def calls(folder):
    return sorted(float(line) for line in Path(folder, "calls").read_text().split())


def test_one_and_two_processes_get_the_same_numbers_in_the_order_of_the_points():
    alone = sweeps.sweep(scaling.landmarks, POINTS)
    assert alone == [scaling.landmarks(**point) for point in POINTS]
    assert sweeps.sweep(scaling.landmarks, POINTS, jobs=2) == alone


def test_a_local_dask_cluster_of_two_workers_gets_the_same_numbers():
    distributed = pytest.importorskip("dask.distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        there = sweeps.sweep(scaling.landmarks, POINTS, cluster=cluster.scheduler_address)
    assert there == sweeps.sweep(scaling.landmarks, POINTS)


def test_an_interrupted_sweep_resumes_from_the_points_it_has(tmp_path):
    points = [{"x": x, "folder": str(tmp_path)} for x in (1.0, 4.0, -1.0, 9.0)]
    with pytest.raises(ValueError):
        sweeps.sweep(counted, points, folder=tmp_path / "kept")
    assert calls(tmp_path) == [-1, 1, 4]
    points[2]["x"] = 16.0
    assert sweeps.sweep(counted, points, folder=tmp_path / "kept") == [1, 2, 4, 3]
    assert calls(tmp_path) == [-1, 1, 4, 9, 16]  # 1 and 4 were not computed again


def test_points_of_another_version_of_the_library_are_not_used(tmp_path, monkeypatch):
    points = [{"x": 4.0, "folder": str(tmp_path)}]
    sweeps.sweep(counted, points, folder=tmp_path / "kept")
    monkeypatch.setattr(sweeps, "_fingerprint", lambda: "another")
    sweeps.sweep(counted, points, folder=tmp_path / "kept")
    assert calls(tmp_path) == [4, 4]


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("late_constant", POINTS), "function"),
        ((math.sqrt, [4.0]), "points"),
        ((math.sqrt, [{"x": 4.0}], None, 0), "jobs"),
        ((math.sqrt, [{"x": 4.0}], None, 1.5), "jobs"),
    ],
)
def test_bad_input_is_named(arguments, name):
    with pytest.raises(ValueError, match=name):
        sweeps.sweep(*arguments)
