"""Sweeps: one function at many points, on all cores or on a Dask cluster, resumed where it was interrupted."""

import hashlib
from contextlib import nullcontext
from pathlib import Path

from . import _checks


def sweep(function, points, folder=None, jobs=1, cluster=None, progress=False):
    """[function(**point) for point in points], in parallel and with what was finished before taken from disk.

    Parameters
    ----------
    function : callable
        Importable by name on every worker (a module's function, not a lambda).
    points : iterable of dict
        Keyword arguments of each call; whatever they and the results are must be picklable.
    folder : path or None
        Where results are kept. A call that is found there is not made again, so an interrupted sweep goes on from the
        points it has. Results of other versions of this library or of `function` are not used. None keeps nothing.
    jobs : int
        Processes on this machine; -1 is one a core.
    cluster : str, dask.distributed.Client or None
        A Dask scheduler's address, or a client: the sweep runs there and `jobs` is not used. Workers need this library
        and, if `folder` is given, must see the same folder.
    progress : bool
        Show a tqdm progress bar.

    Returns
    -------
    list, in the order of the points

    Raises
    ------
    ValueError
        If `function` cannot be called, a point is not a dict, or `jobs` is neither -1 nor at least 1.

    Source: joblib's Parallel and Memory.
    """
    import joblib

    if not callable(function):
        raise ValueError(f"function must be callable, was {function!r:.80}")
    points = list(points)
    for point in points:
        if not isinstance(point, dict):
            raise ValueError(f"points must be dicts of keyword arguments, one was {point!r:.80}")
    if jobs != -1:
        _checks.whole("jobs", jobs)
    if folder is not None:
        function = joblib.Memory(Path(folder) / _fingerprint(), verbose=0).cache(function)

    if cluster is None:
        context, close = joblib.parallel_config(n_jobs=jobs, inner_max_num_threads=None), nullcontext()
    else:
        from dask.distributed import Client

        close = Client(cluster) if isinstance(cluster, str) else nullcontext(cluster)
        context = None
    with close as client:
        if context is None:
            context = joblib.parallel_config("dask", client=client, n_jobs=-1)
        with context:
            results = joblib.Parallel(return_as="generator")(joblib.delayed(function)(**point) for point in points)
            if progress:
                from tqdm.auto import tqdm

                results = tqdm(results, total=len(points), unit="point")
            return list(results)


def _fingerprint():
    """A name that changes with any module of this library: numbers of another version must not be taken for these."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]
