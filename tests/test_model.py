"""bilinear.model: teacher and student against loops over positions, softmax, what they keep, bad input."""

import bilinear as bl
import numpy as np
import pytest
import scipy.special
from bilinear import Student, Teacher
from cases import NOT_NUMBERS, SLOPES, orthogonal, pooling, random_pair
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

EYE = np.eye(3)


@pytest.mark.parametrize("slope", SLOPES)
def test_both_models_against_loops(slope):
    rng = np.random.default_rng(0)
    teacher, student = random_pair(rng, slope)
    x = rng.standard_normal((4, 5))
    logits = student.positions.T @ student.key_query @ student.positions / np.sqrt(5)
    expected = np.zeros((2, 3, 5))
    for m in range(3):
        for i in range(5):
            weights = np.exp(logits[:, i]) / np.exp(logits[:, i]).sum()
            sums = (
                sum(teacher.value[m] @ x[:, j] * teacher.scores[j, i] for j in range(5)),
                sum(student.value[m] @ x[:, j] * weights[j] for j in range(5)),
            )
            expected[:, m, i] = [s if s > 0 else slope * s for s in sums]
    np.testing.assert_allclose([teacher(x), student(x)], expected, rtol=1e-12)


def test_leading_axes_are_batches():
    rng = np.random.default_rng(1)
    for model in random_pair(rng, 0.1):
        x = rng.standard_normal((2, 6, 4, 5))
        assert model(x).shape == (2, 6, 3, 5)
        np.testing.assert_allclose(model(x)[1, 2], model(x[1, 2]), rtol=1e-12)


def test_columns_of_the_students_scores_are_softmaxes():
    _, student = random_pair(np.random.default_rng(2), 0.1)
    np.testing.assert_allclose(student.scores, scipy.special.softmax(student.logits, axis=0), rtol=1e-12)
    np.testing.assert_allclose(student.scores.sum(axis=0), 1, rtol=1e-14)


@given(arrays(float, (4, 3), elements=st.floats(-1e4, 1e4)))
def test_softmax_of_any_logits(logits):
    ours = bl.softmax(logits)
    np.testing.assert_allclose(ours, scipy.special.softmax(logits, axis=0), rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(ours.sum(axis=0), 1, rtol=1e-14)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [80, 500, 1e4, 1e300])
def test_large_logits_neither_overflow_nor_vanish(size):
    logits = np.array([[size, -size, 0.0], [size, -size - 1, -size], [0.0, -size - 2, -size]])
    expected = scipy.special.softmax(logits, axis=0)
    np.testing.assert_allclose(bl.softmax(logits), expected, rtol=1e-12, atol=1e-300)
    np.testing.assert_array_equal(bl.softmax(logits[None]), bl.softmax(logits)[None])
    np.testing.assert_allclose(Student.from_logits(EYE, logits).scores, expected, rtol=1e-9, atol=1e-300)


def test_softmax_takes_whole_numbers_and_leaves_its_input_alone():
    logits = np.array([[1000, 0], [0, 1000]])
    np.testing.assert_array_equal(bl.softmax(logits), np.eye(2))
    assert logits.tolist() == [[1000, 0], [0, 1000]]


def test_initial_student_is_zero_and_attends_evenly():
    teacher = pooling(np.random.default_rng(3), 0.5)
    code = orthogonal(np.random.default_rng(4), 12)
    student = Student.initial(teacher, code)
    assert not student.value.any() and not student.key_query.any()
    assert student.slope == 0.5 and student.value.shape == (3, 5)
    np.testing.assert_array_equal(student.scores, np.full((12, 12), 1 / 12))
    np.testing.assert_array_equal(student.positions, code)


def test_from_logits_undoes_logits():
    rng = np.random.default_rng(5)
    for code in (None, orthogonal(rng, 6)):
        logits = rng.standard_normal((6, 6))
        student = Student.from_logits(np.ones((1, 2)), logits, code, 0.3)
        np.testing.assert_allclose(student.logits, logits, atol=1e-13)
        assert student.slope == 0.3


def test_positions_enter_only_through_the_logits():
    """Turning W_KQ with the code leaves the student as it was."""
    rng = np.random.default_rng(6)
    key_query, value, code = rng.standard_normal((5, 5)), rng.standard_normal((2, 3)), orthogonal(rng, 5)
    x = rng.standard_normal((7, 3, 5))
    plain, turned = Student(value, key_query), Student(value, code @ key_query @ code.T, code)
    np.testing.assert_allclose(turned(x), plain(x), rtol=1e-10)


def test_sizes_and_neighbours():
    teacher = bl.teachers.convolution_with_pooling(np.ones((2, 7)), [[0, 3], [4, 1], [2, 5]])
    assert (teacher.M, teacher.d, teacher.D, teacher.K) == (2, 7, 6, 2)
    assert teacher.neighbours.tolist() == [[0, 3], [1, 4], [2, 5], [0, 3], [1, 4], [2, 5]]
    assert repr(teacher) == "Teacher(M=2, d=7, D=6, slope=1)"
    assert repr(Student.initial(teacher)) == "Student(M=2, d=7, D=6, slope=1)"


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([[0.5, 1.0], [0.5, 0.0]], "K is defined for columns with equally many entries, these have 1 to 2"),
        ([[0.7, 0.3], [0.3, 0.7]], "K is defined for uniform scores 1/K with K = 2"),
    ],
)
def test_K_is_refused_where_scores_are_not_uniform(scores, message):
    teacher = Teacher(np.ones((1, 2)), scores)
    for name in ("K", "neighbours"):
        with pytest.raises(ValueError, match=message):
            getattr(teacher, name)


def test_a_teacher_is_fixed():
    """It does not change with the caller's arrays, and cannot be changed: what is derived from it is kept."""
    value, scores = np.ones((1, 3)), np.eye(3)
    teacher = Teacher(value, scores)
    value[:], scores[:] = 7, 7
    np.testing.assert_array_equal(teacher.value, np.ones((1, 3)))
    np.testing.assert_array_equal(teacher.scores, EYE)
    with pytest.raises(ValueError, match="read-only"):
        teacher.scores[0, 0] = 0.5


def test_support_lists_the_entries_column_after_column():
    teacher = pooling(np.random.default_rng(7), 1.0, D=64, K=2)
    support = teacher.support
    assert support.column.tolist() == sorted(support.column.tolist()) and len(support.flat) == 128
    np.testing.assert_array_equal(support.starts, np.arange(0, 128, 2))
    rebuilt = np.zeros(64 * 64)
    rebuilt[support.flat] = support.weight
    np.testing.assert_array_equal(rebuilt.reshape(64, 64), teacher.scores)
    assert pooling(np.random.default_rng(7), 1.0, D=12, K=3).support is None


@pytest.mark.parametrize("name", ["value", "scores", "slope"])
def test_what_is_no_number_is_named_by_the_teacher(name):
    good = {"value": EYE, "scores": EYE, "slope": 0.5}
    for bad in (*NOT_NUMBERS, np.ones((2, 2, 2)), np.full((3, 3), np.nan), [["a"] * 3] * 3, np.eye(3) > 0):
        with pytest.raises(ValueError, match=f"^{name} must"):
            Teacher(**good | {name: bad})


@pytest.mark.parametrize("name", ["value", "key_query", "positions", "slope"])
def test_what_is_no_number_is_named_by_the_student(name):
    good = {"value": EYE, "key_query": EYE, "positions": EYE, "slope": 0.5}
    for bad in (*NOT_NUMBERS, np.ones((2, 2, 2)), np.full((3, 3), np.inf), [["a"] * 3] * 3, np.eye(3) > 0):
        if not (name == "positions" and bad is None):
            with pytest.raises(ValueError, match=f"^{name} must"):
                Student(**good | {name: bad})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Teacher(EYE, np.ones((3, 2)) / 3), r"scores must be square, had shape \(3, 2\)"),
        (lambda: Teacher(EYE, [[1.5, 0], [-0.5, 1]]), "scores must not be negative, the least was -0.5"),
        (lambda: Teacher(EYE, [[1, 0], [0, 0.9]]), "columns that sum to 1, column 1 sums to 0.9"),
        (lambda: Teacher(np.ones(3), EYE), r"value must have 2 dimensions, had shape \(3,\)"),
        (lambda: Teacher(np.ones((0, 3)), EYE), r"value must not be empty, had shape \(0, 3\)"),
        (lambda: Teacher(EYE, EYE, 1.2), r"slope must lie in \[0, 1\], was 1.2"),
        (lambda: Teacher(EYE, EYE, [0.1]), r"slope must be one number, had shape \(1,\)"),
        (lambda: Student(EYE, np.ones((3, 2))), r"key_query must be square, had shape \(3, 2\)"),
        (lambda: Student(EYE, EYE, np.eye(2)), r"positions must have shape \(3, 3\), had \(2, 2\)"),
        (lambda: Student(EYE, EYE, 2 * EYE), "positions must be orthogonal, P\\^T P differs from the identity by 3"),
        (lambda: Student(EYE, EYE, EYE + 1e-6), "positions must be orthogonal"),
        (lambda: Student.initial("teacher"), "teacher must be a Teacher, was 'teacher'"),
        (lambda: Student.from_logits(EYE, np.ones((3, 2))), r"logits must be square, had shape \(3, 2\)"),
        (lambda: Student.from_logits(EYE, EYE, np.eye(2)), r"positions must have shape \(3, 3\)"),
        (lambda: Student.from_logits(EYE, [1.0]), r"logits must have 2 dimensions, had shape \(1,\)"),
        (lambda: bl.softmax([1.0, 2.0]), r"logits must have at least 2 dimensions, had shape \(2,\)"),
        (lambda: bl.softmax(np.ones((0, 3))), r"logits must not be empty, had shape \(0, 3\)"),
        (lambda: bl.softmax([[np.nan]]), "logits must be finite"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_bad_inputs_to_both_models():
    for model in random_pair(np.random.default_rng(8), 0.1):
        for bad in (*NOT_NUMBERS, np.ones(4), np.ones((5, 4)), np.ones((2, 4, 6)), np.full((4, 5), np.nan)):
            with pytest.raises(ValueError, match="^X must"):
                model(bad)
        with pytest.raises(ValueError, match=r"X must have shape \(..., 4, 5\), had \(5, 4\)"):
            model(np.ones((5, 4)))
