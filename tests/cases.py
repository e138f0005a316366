"""What several tests of the library share: random models, bounds on sampled means, and mutants of a module.

A mutant is a module with one piece of its source changed. The tests of the formulas are plain functions of a module,
so that the same check that passes on the library can be shown to refuse the mutant.
"""

import inspect
import types

import bilinear as bl
import numpy as np
from hypothesis import settings

SLOPES = (0.0, 0.1, 0.5, 1.0)

settings.register_profile("book", max_examples=30, derandomize=True, database=None, deadline=None)
settings.load_profile("book")

# What no argument that should be a number may be.
NOT_NUMBERS = (None, "3", True, 1j, float("nan"), float("inf"), [], [[1.0], [1.0, 2.0]], {}, object())


def random_scores(rng, D):
    """Column-stochastic scores that are far from uniform, with some zeros."""
    scores = rng.exponential(size=(D, D)) ** 2 * (rng.random((D, D)) < 0.7) + 1e-3 * np.eye(D)
    return scores / scores.sum(axis=0)


def orthogonal(rng, D):
    return np.linalg.qr(rng.standard_normal((D, D)))[0]


def random_pair(rng, slope, D=5, d=4, M=3, positions=True, teacher=None):
    """A teacher, with scores that are not uniform unless it is given, and a student far from it."""
    if teacher is None:
        teacher = bl.Teacher(rng.standard_normal((M, d)), random_scores(rng, D), slope)
    code = orthogonal(rng, teacher.D) if positions else None
    key_query = 3 * rng.standard_normal((teacher.D, teacher.D))
    return teacher, bl.Student(rng.standard_normal(teacher.value.shape), key_query, code, slope)


def pooling(rng, slope, D=12, K=3, d=5, M=3):
    """A convolution with pooling over groups that are not in order: a teacher with uniform scores."""
    groups = rng.permutation(D).reshape(-1, K)
    return bl.teachers.convolution_with_pooling(rng.standard_normal((M, d)), groups, slope)


def five_teachers(slope):
    """The paper's five teachers; the last two have the identity activation whatever the slope."""
    import networkx as nx

    rng = np.random.default_rng(5)
    weight = rng.standard_normal((3, 4))
    yield bl.teachers.one_layer(weight, 6, slope)
    yield pooling(rng, slope)
    yield bl.teachers.graph_convolution(weight, nx.random_regular_graph(3, 10, seed=1), slope)
    if slope == 1:
        yield bl.teachers.sparse_token_selection(4, 9, [7, 2])
        yield bl.teachers.group_sparse_linear(weight[0], 8, 5)


def assert_mean(samples, expected, errors=5):
    """The mean of independent samples (first axis) lies within so many standard errors of what is expected."""
    samples = np.asarray(samples)
    error = samples.std(axis=0, ddof=1) / np.sqrt(len(samples))
    off = np.abs(samples.mean(axis=0) - expected) / (error + 1e-12)
    assert np.max(off) < errors, f"{np.max(off):.1f} standard errors"


def mutant(module, old, new):
    """The module with `old` replaced by `new` in its source, which must hold it."""
    source = inspect.getsource(module)
    assert old in source, f"{module.__name__} does not hold {old!r}: the mutation tests nothing"
    changed = types.ModuleType(module.__name__)
    changed.__package__ = module.__package__
    exec(compile(source.replace(old, new), module.__file__, "exec"), changed.__dict__)
    return changed
