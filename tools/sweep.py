"""A small sweep of the landmarks of training over D, K and the slope: `make sweep`.

``python tools/sweep.py`` runs it on all cores and keeps each point in _build/sweep, so that a second call, or one after
an interruption, computes only what is missing. ``--cluster tcp://host:8786`` runs it on a Dask cluster instead.
"""

from __future__ import annotations

import argparse
import itertools
import math
from pathlib import Path

from bilinear import scaling, sweeps

ROOT = Path(__file__).resolve().parents[1]
POINTS = [{"D": D, "K": K, "slope": slope} for D, K, slope in itertools.product((16, 64, 512), (1, 4), (0.0, 0.1, 1.0))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=-1, help="processes on this machine; -1 is one a core")
    parser.add_argument("--cluster", help="address of a Dask scheduler, such as tcp://host:8786")
    parser.add_argument("--folder", type=Path, default=ROOT / "_build" / "sweep", help="where finished points are kept")
    options = parser.parse_args()
    results = sweeps.sweep(scaling.landmarks, POINTS, options.folder, options.jobs, options.cluster, progress=True)
    print("Times are training times eta T; ||V*|| = 1.")
    print("   D   K  slope   plateau ends    K p = 1/2   peak C1   eta T excess/(K D (D-K))")
    constants = []
    for point, found in zip(POINTS, results, strict=True):
        D, K = point["D"], point["K"]
        constants.append(found.late * found.excess_loss / (K * D * (D - K)))
        row = f"{found.plateau:15.4g} {found.half:11.4g} {found.peak:9.4g} {constants[-1]:26.4f}"
        print(f"{D:4d} {K:3d} {point['slope']:6g} {row}")
    if not all(math.isclose(constant, 0.25, rel_tol=1e-3) for constant in constants):
        raise SystemExit("a point is further than 0.1 % from 1/4")


if __name__ == "__main__":
    main()
