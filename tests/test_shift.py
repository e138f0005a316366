"""bilinear.shift: exact excess against sampling, the bound against random and worst pairs, bad input."""

import bilinear as bl
import numpy as np
import pytest
from bilinear import dynamics, shift


def pair(rng, slope=1.0, M=3, d=2, D=6, K=2):
    groups = np.arange(D).reshape(-1, K)
    teacher = bl.teachers.convolution_with_pooling(rng.normal(size=(M, d)), groups, slope)
    return teacher, bl.Student(rng.normal(size=(M, d)), rng.normal(size=(D, D)), slope=slope)


def trained(slope, step_size=0.02, steps=20_000):
    teacher, _ = pair(np.random.default_rng(3), slope, M=4, d=6, D=12, K=3)
    reduced = dynamics.Reduced(12, 3, np.linalg.norm(teacher.value), slope)
    return teacher, dynamics.student_at(teacher, *reduced.run(step_size, steps))


def test_linear_excess_agrees_with_sampling_for_dependent_columns():
    rng = np.random.default_rng(0)
    teacher, student = pair(rng)
    mean, root = rng.normal(size=(2, 6)), rng.normal(size=(12, 12)) / 3
    flat = rng.standard_normal((200_000, 12)) @ root.T
    inputs = flat.reshape(-1, 6, 2).swapaxes(1, 2) + mean
    halves = np.sum((teacher(inputs) - student(inputs)) ** 2, axis=(1, 2)) / 2
    error = halves.std() / np.sqrt(len(halves))
    assert abs(shift.linear_excess(teacher, student, mean, root @ root.T) - halves.mean()) < 5 * error


def test_linear_excess_of_both_forms_of_the_covariance_and_of_the_training_inputs():
    rng = np.random.default_rng(1)
    teacher, student = pair(rng)
    root = rng.normal(size=(2, 2))
    one = shift.linear_excess(teacher, student, np.ones(2), root @ root.T)
    whole = shift.linear_excess(teacher, student, np.ones((2, 6)), np.kron(np.eye(6), root @ root.T))
    assert one == pytest.approx(whole, rel=1e-12)
    standard = shift.linear_excess(teacher, student, np.zeros(2), np.eye(2))
    assert standard == pytest.approx(bl.population.excess_loss(teacher, student), rel=1e-12)


@pytest.mark.parametrize("slope", [0.0, 0.3, 1.0])
def test_no_pair_exceeds_the_bound(slope):
    rng = np.random.default_rng(2)
    for _ in range(50):
        teacher, student = pair(rng, slope)
        inputs, labels = rng.normal(size=(2, 6)), rng.normal(size=(3, 6))
        inputs /= np.linalg.norm(inputs, axis=0)
        labels /= np.linalg.norm(labels, axis=0)
        assert abs(shift.excess(teacher, student, inputs, labels)) <= shift.worst_case_bound(teacher, student, 1.0)


@pytest.mark.parametrize(("slope", "share"), [(0.0, 0.5), (0.3, 0.545), (1.0, 0.9)])
def test_the_worst_pair_reaches_its_share_of_the_bound(slope, share):
    teacher, student = trained(slope, steps=300_000)
    inputs, labels = shift.worst_case_pair(teacher, student, 2.0)
    assert np.linalg.norm(inputs, axis=0) == pytest.approx(np.sqrt(2.0), rel=1e-12)
    assert np.linalg.norm(labels, axis=0) == pytest.approx(np.sqrt(2.0), rel=1e-12)
    ratio = shift.excess(teacher, student, inputs, labels) / shift.worst_case_bound(teacher, student, 2.0)
    assert share <= ratio <= 1


def test_mismatch_weights_on_the_invariant_form():
    teacher, student = trained(1.0)
    c1 = dynamics.read_constants(teacher, student).c1
    p, q = student.scores[teacher.neighbours[0, 0], 0], student.scores[teacher.neighbours[-1, 0], 0]
    form = np.linalg.norm(teacher.value, 2) * (abs(1 - c1 * 3 * p) + c1 * 9 * q)
    assert shift.mismatch_weights(teacher, student) == pytest.approx(form, rel=1e-10)


def test_excess_is_the_difference_of_the_losses():
    rng = np.random.default_rng(4)
    teacher, student = pair(rng, 0.2)
    inputs, labels = rng.normal(size=(50, 2, 6)), rng.normal(size=(50, 3, 6))

    def loss(model):
        return np.mean(np.sum((labels - model(inputs)) ** 2, axis=(1, 2))) / 2

    assert shift.excess(teacher, student, inputs, labels) == pytest.approx(loss(student) - loss(teacher), rel=1e-10)


@pytest.mark.parametrize(
    ("mean", "covariance", "name"),
    [
        (np.zeros(3), np.eye(2), "mean"),
        (np.zeros(2), np.eye(3), "covariance"),
        (np.zeros(2), np.array([[1.0, 0.5], [0.0, 1.0]]), "covariance"),
        (np.zeros(2), -np.eye(2), "covariance"),
        (np.array([np.nan, 0]), np.eye(2), "mean"),
    ],
)
def test_linear_excess_refuses_bad_moments(mean, covariance, name):
    teacher, student = pair(np.random.default_rng(5))
    with pytest.raises(ValueError, match=name):
        shift.linear_excess(teacher, student, mean, covariance)


def test_refusals_name_what_was_wrong():
    rng = np.random.default_rng(6)
    teacher, student = pair(rng, 0.5)
    with pytest.raises(ValueError, match="slope 1"):
        shift.linear_excess(teacher, student, np.zeros(2), np.eye(2))
    for xi in (0, -1.0, np.nan, "1"):
        with pytest.raises(ValueError, match="xi"):
            shift.worst_case_bound(teacher, student, xi)
        with pytest.raises(ValueError, match="xi"):
            shift.worst_case_pair(teacher, student, xi)
    with pytest.raises(ValueError, match="labels"):
        shift.excess(teacher, student, np.zeros((2, 6)), np.zeros((2, 6)))
    with pytest.raises(ValueError, match="student"):
        shift.excess(teacher, pair(rng, 0.5, D=4)[1], np.zeros((2, 6)), np.zeros((3, 6)))
