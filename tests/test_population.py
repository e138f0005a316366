"""bilinear.population: the exact loss and gradient against sampling and differences; mutants; ends; cost; bad input."""

import time
import tracemalloc

import bilinear as bl
import numpy as np
import pytest
from bilinear import Student, Teacher, dynamics, population
from bilinear.activations import leaky_relu, leaky_relu_derivative
from cases import NOT_NUMBERS, SLOPES, assert_mean, mutant, orthogonal, pooling, random_pair
from hypothesis import given
from hypothesis import strategies as st


def pairs():
    """Students far from their teachers: scores that are not uniform and uniform ones, with positions and without."""
    rng = np.random.default_rng(11)
    for slope in SLOPES:
        for positions in (True, False):
            yield random_pair(rng, slope, positions=positions)
            yield random_pair(rng, slope, positions=positions, teacher=pooling(rng, slope, D=6, K=2, d=4))


def check_loss_by_sampling(population):
    rng = np.random.default_rng(1)
    for teacher, student in pairs():
        x = rng.standard_normal((20_000, teacher.d, teacher.D))
        losses = np.sum((teacher(x) - student(x)) ** 2, axis=(1, 2)) / 2
        assert_mean(losses, population.excess_loss(teacher, student))


def quotient_along(population, teacher, student, u, v, h):
    """Central difference quotient of the exact loss along (u, v) in the two blocks."""

    def loss(s):
        moved = Student(student.value + s * u, student.key_query + s * v, student.positions, student.slope)
        return population.excess_loss(teacher, moved)

    return (loss(h) - loss(-h)) / (2 * h)


def check_gradient_by_differences(population):
    """Along random directions of both blocks, by central differences of the exact loss."""
    rng, h = np.random.default_rng(2), 1e-5
    for teacher, student in pairs():
        d_value, d_key_query = population.gradient(teacher, student)
        for _ in range(3):
            u, v = rng.standard_normal(d_value.shape), rng.standard_normal(d_key_query.shape)
            along = np.sum(u * d_value) + np.sum(v * d_key_query)
            assert along == pytest.approx(quotient_along(population, teacher, student, u, v, h), rel=1e-6, abs=1e-7)


def paper_gradient_samples(teacher, student, x):
    """The terms of the paper's expectations of both gradients, one sample of X each; the sum over l is carried out."""
    scores = student.scores
    code = np.eye(teacher.D) if student.positions is None else student.positions
    projected = student.value @ x  # <w_m, x_j>, (N, M, D)
    hidden = projected @ scores
    weight = (teacher(x) - leaky_relu(hidden, teacher.slope)) * leaky_relu_derivative(hidden, teacher.slope)
    d_value = -np.einsum("nmi,nkj,ji->nmk", weight, x, scores, optimize=True)
    # sum_jl <w_m, x_j> S_ji S_li (p_j - p_l) = sum_j <w_m, x_j> S_ji (p_j - sum_l S_li p_l)
    centred = code[:, :, None] - (code @ scores)[:, None, :]  # coordinate, j, i
    inner = np.einsum("nmi,nmj->nji", weight, projected, optimize=True) * scores
    d_key_query = -np.einsum("nji,aji,bi->nab", inner, centred, code, optimize=True) / np.sqrt(teacher.D)
    return d_value, d_key_query


def check_gradient_by_sampling(population):
    rng = np.random.default_rng(3)
    for slope in SLOPES:
        teacher, student = random_pair(rng, slope, D=4, d=3, M=2)
        samples = paper_gradient_samples(teacher, student, rng.standard_normal((20_000, 3, 4)))
        for sample, exact in zip(samples, population.gradient(teacher, student), strict=True):
            assert_mean(sample, exact)


def check_zero_student(population):
    """sigma'(0) = 1: the first step is W_V = eta (1 + kappa)/2 sum_i S_i . S*_i V*, here against sampling."""
    rng = np.random.default_rng(4)
    for slope in SLOPES:
        teacher = pooling(rng, slope, D=4, K=2, d=3, M=2)
        student = Student.initial(teacher)
        d_value, d_key_query = population.gradient(teacher, student)
        np.testing.assert_allclose(d_value, -(1 + slope) / 2 * teacher.value, rtol=1e-12)
        assert not d_key_query.any()
        sample, _ = paper_gradient_samples(teacher, student, rng.standard_normal((20_000, 3, 4)))
        assert_mean(sample, d_value)


CHECKS = (check_loss_by_sampling, check_gradient_by_differences, check_gradient_by_sampling, check_zero_student)


@pytest.mark.parametrize("check", CHECKS)
def test_exact_loss_and_gradient(check):
    check(population)


@pytest.mark.parametrize(
    ("old", "new", "check"),
    [
        # a constant of the kernel, in the gradient alone
        ("(1 - slope) ** 2 / (2 * math.pi)", "(1 - slope) ** 2 / (4 * math.pi)", check_gradient_by_differences),
        ("(1 - slope) ** 2 / (2 * math.pi)", "(1 - slope) ** 2 / (4 * math.pi)", check_gradient_by_sampling),
        # the part that is not linear dropped
        ("both = alpha - gamma * theta", "both = alpha + 0 * theta", check_gradient_by_differences),
        ("gamma * rows.target) @ sine", "gamma * rows.target) @ (0 * sine)", check_gradient_by_sampling),
        # alpha
        ("(1 + slope**2) / 2", "(1 + slope) / 2", check_gradient_by_differences),
        # sigma'(0) = kappa, the usual convention of automatic differentiation
        ("= 0] = (1 + slope) / 2", "= 0] = slope * (1 + slope) / 2", check_zero_student),
        # the mean that the softmax takes away, the teacher's pull, the scale of the logits
        ("factor -= mean", "factor -= 0 * mean", check_gradient_by_differences),
        ("factor -= teacher.scores[block] * others", "factor -= scale * others", check_gradient_by_differences),
        ("1 / math.sqrt(teacher.D)", "1 / teacher.D", check_gradient_by_sampling),
        # the loss
        ("2 * a * b * gap", "a * b * gap", check_loss_by_sampling),
        ("moments.alpha(teacher.slope) * (a - b) ** 2", "(a - b) ** 2", check_loss_by_sampling),
        ("rows.along[:, None]", "abs(rows.along[:, None])", check_loss_by_sampling),
        # the code of the positions left out on one side
        ("d_key_query @ student.positions.T", "d_key_query", check_gradient_by_sampling),
    ],
)
def test_the_checks_refuse_a_wrong_formula(old, new, check):
    with pytest.raises(AssertionError):
        check(mutant(population, old, new))


def test_slope_one_is_the_bilinear_least_squares_loss():
    teacher, student = random_pair(np.random.default_rng(5), 1.0)
    difference = np.kron(teacher.value, teacher.scores) - np.kron(student.value, student.scores)
    assert population.excess_loss(teacher, student) == pytest.approx(np.sum(difference**2) / 2, rel=1e-12)


@given(st.integers(0, 10**6), st.sampled_from(SLOPES), st.integers(1, 6), st.integers(1, 4), st.integers(1, 3))
def test_any_shapes(seed, slope, D, d, M):
    """Loss against the moments of each pair of outputs, and gradient against a difference quotient."""
    rng = np.random.default_rng(seed)
    teacher, student = random_pair(rng, slope, D, d, M)
    loss, scores = 0.0, student.scores
    for m in range(M):
        for i in range(D):
            u = np.outer(teacher.value[m], teacher.scores[:, i]).ravel()
            w = np.outer(student.value[m], scores[:, i]).ravel()
            a, b, theta = np.linalg.norm(u), np.linalg.norm(w), bl.moments.angle_between(u, w)
            squares = bl.moments.second_moment(a, slope) + bl.moments.second_moment(b, slope)
            loss += squares / 2 - bl.moments.cross_moment(a, b, theta, slope)
    assert population.excess_loss(teacher, student) == pytest.approx(loss, rel=1e-9, abs=1e-12)

    d_value, d_key_query = population.gradient(teacher, student)
    u, v, h = rng.standard_normal((M, d)), rng.standard_normal((D, D)), 1e-5
    along = np.sum(u * d_value) + np.sum(v * d_key_query)
    assert along == pytest.approx(quotient_along(population, teacher, student, u, v, h), rel=1e-4, abs=1e-6)


@given(st.integers(0, 10**6), st.sampled_from(SLOPES))
def test_softmax_invariance(seed, slope):
    """A constant added to a column of the logits changes nothing, so the columns of the gradient sum to zero."""
    rng = np.random.default_rng(seed)
    teacher, student = random_pair(rng, slope, positions=False)
    shifted = Student(student.value, student.key_query + 50 * rng.standard_normal(5), None, slope)
    losses = [population.excess_loss(teacher, one) for one in (student, shifted)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-10)
    first, second = population.gradient(teacher, student), population.gradient(teacher, shifted)
    np.testing.assert_allclose(second[0], first[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(second[1], first[1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(first[1].sum(axis=0), 0, atol=1e-13)


def with_rows(teacher, student, teacher_row=None, student_row=None):
    value, own = teacher.value.copy(), student.value.copy()
    if teacher_row is not None:
        value[0] = teacher_row
    if student_row is not None:
        own[0] = student_row
    return Teacher(value, teacher.scores, teacher.slope), Student(own, student.key_query, None, teacher.slope)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("slope", SLOPES)
def test_rows_that_are_zero(slope):
    rng = np.random.default_rng(6)
    teacher, student = random_pair(rng, slope, positions=False)
    for rows in ((0.0, None), (None, 0.0), (0.0, 0.0)):
        teacher_, student_ = with_rows(teacher, student, *rows)
        x = rng.standard_normal((20_000, 4, 5))
        losses = np.sum((teacher_(x) - student_(x)) ** 2, axis=(1, 2)) / 2
        assert_mean(losses, population.excess_loss(teacher_, student_))
        samples = paper_gradient_samples(teacher_, student_, x)
        for sample, exact in zip(samples, population.gradient(teacher_, student_), strict=True):
            assert_mean(sample, exact, errors=5.5)


def test_a_row_of_zeros_is_a_kink_of_the_loss():
    """There sigma'(0) = 1 decides: the gradient is 2/(1 + kappa) times the mean of the two one-sided slopes."""
    rng = np.random.default_rng(7)
    for slope in SLOPES:
        teacher, student = with_rows(*random_pair(rng, slope, positions=False), student_row=0.0)
        direction = rng.standard_normal(4)
        h, sides = 1e-6, []
        for sign in (1, -1):
            _, moved = with_rows(teacher, student, student_row=sign * h * direction)
            sides.append(sign * (population.excess_loss(teacher, moved) - population.excess_loss(teacher, student)) / h)
        along = direction @ population.gradient(teacher, student)[0][0]
        assert along == pytest.approx(2 / (1 + slope) * np.mean(sides), rel=1e-4)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("slope", SLOPES)
@pytest.mark.parametrize(("D", "K", "M", "d"), [(2, 1, 1, 1), (2, 1, 3, 2), (4, 4, 2, 3), (5, 1, 1, 4), (1, 1, 1, 1)])
def test_smallest_sizes(slope, D, K, M, d):
    rng = np.random.default_rng(8)
    groups = np.arange(D).reshape(-1, K)
    teacher = bl.teachers.convolution_with_pooling(rng.standard_normal((M, d)), groups, slope)
    teacher, student = random_pair(rng, slope, teacher=teacher)
    x = rng.standard_normal((20_000, d, D))
    assert_mean(np.sum((teacher(x) - student(x)) ** 2, axis=(1, 2)) / 2, population.excess_loss(teacher, student))
    samples = paper_gradient_samples(teacher, student, x)
    for sample, exact in zip(samples, population.gradient(teacher, student), strict=True):
        assert_mean(sample, exact)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e2, 1e3, 1e4])
def test_large_logits(size):
    rng = np.random.default_rng(9)
    for slope in SLOPES:
        teacher, student = random_pair(rng, slope)
        student = Student.from_logits(student.value, size * rng.standard_normal((5, 5)), student.positions, slope)
        assert np.isfinite(population.excess_loss(teacher, student))
        x = rng.standard_normal((20_000, 4, 5))
        assert_mean(np.sum((teacher(x) - student(x)) ** 2, axis=(1, 2)) / 2, population.excess_loss(teacher, student))
        for part in population.gradient(teacher, student):
            assert np.isfinite(part).all()


@pytest.mark.parametrize("slope", SLOPES)
def test_the_teacher_itself_has_no_excess_and_no_gradient(slope):
    """Logits of 50 on the sets and 0 off them give S* to rounding."""
    teacher = pooling(np.random.default_rng(10), slope)
    student = Student.from_logits(teacher.value, 50.0 * (teacher.scores > 0), slope=slope)
    assert 0 <= population.excess_loss(teacher, student) < 1e-28
    for part in population.gradient(teacher, student):
        assert abs(part).max() < 1e-13


@pytest.mark.parametrize("slope", SLOPES)
@pytest.mark.parametrize("delta", [2.0, 8.0, 14.0])
def test_no_digits_are_lost_near_the_teacher(slope, delta):
    """C1 - 1 and e^-delta far below 1, against the two scalars in 50 digits."""
    mpmath = pytest.importorskip("mpmath")
    teacher = pooling(np.random.default_rng(12), slope)
    c1 = 1 + 3 * np.exp(-2 * delta)
    student = dynamics.student_at(teacher, c1, delta)
    with mpmath.workdps(50):
        kappa, K, D = mpmath.mpf(slope), 3, 12
        ratio = mpmath.exp(-mpmath.mpf(delta))
        p = 1 / (K + (D - K) * ratio)
        n = mpmath.sqrt(K * p**2 + (D - K) * (ratio * p) ** 2)
        theta = mpmath.atan(mpmath.sqrt(mpmath.mpf(D - K) / K) * ratio)
        alpha, gamma = (1 + kappa**2) / 2, (1 - kappa) ** 2 / (2 * mpmath.pi)
        kernel = alpha * mpmath.cos(theta) + gamma * (mpmath.sin(theta) - theta * mpmath.cos(theta))
        c = mpmath.mpf(c1)
        loss = float(D * (alpha / K - 2 * c * n * kernel / mpmath.sqrt(K) + alpha * c**2 * n**2) / 2)
    loss *= np.sum(teacher.value**2)
    assert population.excess_loss(teacher, student) == pytest.approx(loss, rel=1e-6)


@pytest.mark.parametrize("slope", SLOPES)
def test_few_and_many_entries_of_the_teachers_scores_take_the_same_values(slope):
    """Scores with few entries are gathered, others taken as whole arrays: two ways to the same numbers."""
    rng = np.random.default_rng(13)
    few = pooling(rng, slope, D=64, K=2)
    assert few.support is not None
    many = Teacher(few.value, few.scores, slope)
    many.__dict__["support"] = None
    student = Student(rng.standard_normal((3, 5)), 20 * rng.standard_normal((64, 64)), None, slope)
    assert population.excess_loss(few, student) == pytest.approx(population.excess_loss(many, student), rel=1e-13)
    for first, second in zip(population.gradient(few, student), population.gradient(many, student), strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-11, atol=1e-15)


def test_arguments_are_left_alone():
    teacher, student = random_pair(np.random.default_rng(14), 0.1)
    value, key_query = student.value.copy(), student.key_query.copy()
    population.gradient(teacher, student)
    population.excess_loss(teacher, student)
    np.testing.assert_array_equal(student.value, value)
    np.testing.assert_array_equal(student.key_query, key_query)


@pytest.mark.parametrize("function", [population.excess_loss, population.gradient])
def test_bad_input(function):
    teacher, student = random_pair(np.random.default_rng(15), 0.1)
    for bad in NOT_NUMBERS:
        with pytest.raises(ValueError, match="^teacher must be a Teacher, was"):
            function(bad, student)
        with pytest.raises(ValueError, match="^student must be a Student, was"):
            function(teacher, bad)
    with pytest.raises(ValueError, match="^teacher must be a Teacher, was Student"):
        function(student, teacher)
    shapes = r"student must have the teacher's shapes \(3, 4\) and \(5, 5\), had"
    with pytest.raises(ValueError, match=shapes + r" \(3, 4\) and \(6, 6\)"):
        function(teacher, Student(np.ones((3, 4)), np.ones((6, 6)), slope=0.1))
    with pytest.raises(ValueError, match=shapes + r" \(2, 4\) and \(5, 5\)"):
        function(teacher, Student(np.ones((2, 4)), np.ones((5, 5)), slope=0.1))
    with pytest.raises(ValueError, match="student must have the teacher's slope 0.1, had 1"):
        function(teacher, Student(np.ones((3, 4)), np.ones((5, 5))))


def large_pair(K):
    """(d, D, M) = (16, 1024, 16), with K = None for scores that fill their matrix."""
    rng = np.random.default_rng(16)
    teacher = pooling(rng, 0.1, D=1024, K=K or 16, d=16, M=16)
    if K is None:
        teacher = Teacher(teacher.value, rng.dirichlet(np.ones(1024), size=1024).T, 0.1)
    return random_pair(rng, 0.1, positions=False, teacher=teacher)


@pytest.mark.parametrize("K", [16, 256, None])
def test_memory_of_a_step(K):
    """At most 6 arrays of D x D, with what is kept about the teacher."""
    teacher, student = large_pair(K)
    for function in (population.gradient, population.excess_loss):
        tracemalloc.start()
        function(teacher, student)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak <= 6 * 8 * 1024**2


def median_ratio(teacher, student, rounds):
    x = np.random.default_rng(17).standard_normal((1024, 1024))
    times = np.empty((rounds, 2))
    for row in times:
        for column, call in enumerate((lambda: population.gradient(teacher, student), lambda: np.exp(x))):
            start = time.process_time()
            call()
            row[column] = time.process_time() - start
    return np.median(times[:, 0]) / np.median(times[:, 1])


def test_time_of_a_step():
    """At most 10 times np.exp on a D x D array, in processor time. Other work on the machine takes the caches away and
    disturbs a round, hence several tries."""
    teacher, student = large_pair(16)
    population.gradient(teacher, student)
    ratios = []
    while len(ratios) < 6 and not (ratios and min(ratios) <= 10):
        ratios.append(median_ratio(teacher, student, 15))
    assert min(ratios) <= 10, f"gradient / np.exp: {', '.join(f'{ratio:.1f}' for ratio in ratios)}"


def test_positions_turn_the_gradient():
    rng = np.random.default_rng(18)
    teacher, plain = random_pair(rng, 0.1, positions=False)
    code = orthogonal(rng, 5)
    turned = Student(plain.value, code @ plain.key_query @ code.T, code, 0.1)
    first, second = population.gradient(teacher, plain), population.gradient(teacher, turned)
    np.testing.assert_allclose(second[0], first[0], rtol=1e-10)
    np.testing.assert_allclose(second[1], code @ first[1] @ code.T, atol=1e-13)
