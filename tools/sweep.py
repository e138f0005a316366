"""A small sweep of the late constant over D, K and the slope: `make sweep`.

``python tools/sweep.py`` runs it on all cores and keeps each point in _build/sweep, so that a second call, or one after
an interruption, computes only what is missing. ``--cluster tcp://host:8786`` runs it on a Dask cluster instead.
"""

from __future__ import annotations

import argparse
import itertools
import math
from pathlib import Path

from bilinear import sweeps

ROOT = Path(__file__).resolve().parents[1]
POINTS = [
    {"D": D, "K": K, "slope": slope, "time": 1e4}
    for D, K, slope in itertools.product((8, 64, 512), (1, 4), (0.0, 0.1, 1.0))
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=-1, help="processes on this machine; -1 is one a core")
    parser.add_argument("--cluster", help="address of a Dask scheduler, such as tcp://host:8786")
    parser.add_argument("--folder", type=Path, default=ROOT / "_build" / "sweep", help="where finished points are kept")
    options = parser.parse_args()
    results = sweeps.sweep(sweeps.late_constant, POINTS, options.folder, options.jobs, options.cluster, progress=True)
    print("   D   K  slope  eta T excess/(K D (D-K)) at 10^4 T*")
    for point, result in zip(POINTS, results, strict=True):
        print(f"{point['D']:4d} {point['K']:3d} {point['slope']:6g}  {result:.4f}")
    if not all(math.isclose(result, 0.25, rel_tol=0.1) for result in results):
        raise SystemExit("a point is further than 10 % from 1/4")


if __name__ == "__main__":
    main()
