"""bilinear.training: exact and online descent against plain loops, what is recorded, mutants, bad input."""

import tracemalloc

import bilinear as bl
import numpy as np
import pytest
from bilinear import Student, population, training
from bilinear.activations import leaky_relu, leaky_relu_derivative
from bilinear.training import batch_gradient, descend, descend_online, log_spaced
from cases import NOT_NUMBERS, SLOPES, assert_mean, mutant, orthogonal, pooling, random_pair

QUANTITIES = ("excess_loss", "score_error", "value_error", "cosine")


def plain_descent(teacher, student, step_size, steps, logit_scale=1.0):
    """Gradient descent on W_V and W_KQ, written on the two blocks themselves."""
    for _ in range(steps):
        d_value, d_key_query = population.gradient(teacher, student)
        value = student.value - step_size * d_value
        key_query = student.key_query - step_size * logit_scale * d_key_query
        student = Student(value, key_query, student.positions, student.slope)
    return student


def check_descent(training):
    rng = np.random.default_rng(0)
    for slope in SLOPES:
        for positions in (False, True):
            teacher, start = random_pair(rng, slope, positions=positions)
            history = training.descend(teacher, 0.05, 60, student=start, logit_scale=3.0)
            expected = plain_descent(teacher, start, 0.05, 60, logit_scale=3.0)
            np.testing.assert_allclose(history.student.value, expected.value, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(history.student.key_query, expected.key_query, rtol=1e-9, atol=1e-11)
            assert history.student.positions is start.positions


def check_record(training):
    """Every record belongs to the student that has taken that many steps."""
    teacher = pooling(np.random.default_rng(1), 0.1)
    history = training.descend(teacher, 0.02, 30, record=[0, 1, 7, 30])
    assert history.steps.tolist() == [0, 1, 7, 30] and history.batch_loss is None
    for index, steps in enumerate(history.steps):
        student = plain_descent(teacher, Student.initial(teacher), 0.02, steps)
        assert history.excess_loss[index] == pytest.approx(population.excess_loss(teacher, student), rel=1e-9)
        assert history.score_error[index] == pytest.approx(np.linalg.norm(student.scores - teacher.scores), rel=1e-9)
        assert history.value_error[index] == pytest.approx(np.linalg.norm(student.value - teacher.value), rel=1e-9)
        size = np.linalg.norm(student.value) * np.linalg.norm(teacher.value)
        cosine = np.sum(student.value * teacher.value) / size if size else 0.0
        assert history.cosine[index] == pytest.approx(cosine, abs=1e-12)


def check_batch_gradient(training):
    """Against loops over samples and outputs, and sigma'(0) = 1 at W_V = 0."""
    rng = np.random.default_rng(2)
    for slope in SLOPES:
        teacher, student = random_pair(rng, slope, D=4, d=3, M=2)
        x, y = rng.standard_normal((7, 3, 4)), rng.standard_normal((7, 2, 4))
        for value in (student.value, np.zeros((2, 3))):
            scores = student.scores
            loss, d_value, d_scores = 0.0, np.zeros((2, 3)), np.zeros((4, 4))
            for n in range(7):
                for m in range(2):
                    for i in range(4):
                        hidden = value[m] @ x[n] @ scores[:, i]
                        residual = y[n, m, i] - leaky_relu(hidden, slope)
                        loss += residual**2 / 14
                        pull = -residual * leaky_relu_derivative(hidden, slope) / 7
                        d_value[m] += pull * (x[n] @ scores[:, i])
                        d_scores[:, i] += pull * (value[m] @ x[n])
            ours = training.batch_gradient(x, y, value, scores, slope)
            assert ours[0] == pytest.approx(loss, rel=1e-12)
            np.testing.assert_allclose(ours[1], d_value, atol=1e-12)
            np.testing.assert_allclose(ours[2], d_scores, atol=1e-12)


def check_online_step_on_average(training):
    """The mean of one online step, over many, is the exact step; the noise of the labels does not move it."""
    for slope in (0.1, 1.0):
        teacher, start = random_pair(np.random.default_rng(3), slope, D=4, d=3, M=2)
        exact = plain_descent(teacher, start, 0.1, 1)
        values, keys = [], []
        rng = np.random.default_rng(4)
        for _ in range(400):
            student = training.descend_online(teacher, 0.1, 1, rng, noise=0.5, student=start, record=[0]).student
            values.append(student.value)
            keys.append(student.key_query)
        assert_mean(values, exact.value)
        assert_mean(keys, exact.key_query)


CHECKS = (check_descent, check_record, check_batch_gradient, check_online_step_on_average)


@pytest.mark.parametrize("check", CHECKS)
def test_descent(check):
    check(training)


@pytest.mark.parametrize(
    ("old", "new", "check"),
    [
        ('_checks.positive_number("logit_scale", logit_scale) / teacher.D', "1.0 / teacher.D", check_descent),
        ("logit_scale) / teacher.D", "logit_scale) / np.sqrt(teacher.D)", check_descent),
        ("logit_scale) / teacher.D", "logit_scale) / np.sqrt(teacher.D)", check_online_step_on_average),
        ("value -= step_size * d_value", "value += step_size * d_value", check_descent),
        ("value -= step_size * d_value", "value -= 2 * step_size * d_value", check_online_step_on_average),
        ("_softmax(logits) - teacher.scores", "_softmax(logits).T - teacher.scores / 2", check_record),
        ("in wanted", "+ 1 in wanted", check_record),
        ("residual /= -count", "residual /= count", check_batch_gradient),
        ("(2 * count)", "count", check_batch_gradient),
        ("residual *= leaky_relu_derivative(hidden, slope)", "residual *= hidden > 0", check_batch_gradient),
        ('d_scores -= np.einsum("ji,ji->i", d_scores, scores)', "pass", check_online_step_on_average),
    ],
)
def test_the_checks_refuse_a_wrong_formula(old, new, check):
    with pytest.raises((AssertionError, ValueError, IndexError)):
        check(mutant(training, old, new))


@pytest.mark.parametrize("slope", SLOPES)
def test_from_zero_the_first_step_is_along_the_teacher(slope):
    """W_V = eta (1 + kappa)/2 V*: it moves for ReLU too, because sigma'(0) = 1."""
    teacher = pooling(np.random.default_rng(5), slope)
    history = descend(teacher, 0.3, 1)
    np.testing.assert_allclose(history.student.value, 0.3 * (1 + slope) / 2 * teacher.value, rtol=1e-12)
    assert history.cosine.tolist() == [0, pytest.approx(1, abs=1e-12)]
    online = descend_online(teacher, 0.3, 1, np.random.default_rng(0))
    assert online.student.value.any()


def test_the_encoding_does_not_change_a_run():
    teacher, code = pooling(np.random.default_rng(6), 0.1), orthogonal(np.random.default_rng(7), 12)
    plain, turned = descend(teacher, 0.05, 200), descend(teacher, 0.05, 200, positions=code)
    for name in QUANTITIES:
        np.testing.assert_array_equal(getattr(turned, name), getattr(plain, name))
    np.testing.assert_allclose(turned.student.key_query, code @ plain.student.key_query @ code.T, atol=1e-12)
    assert turned.student.positions is not None


def test_the_loss_falls_at_every_step_for_small_steps():
    teacher = pooling(np.random.default_rng(8), 0.1)
    losses = descend(teacher, 0.01, 300, record=range(301)).excess_loss
    assert (np.diff(losses) < 0).all()


def test_the_start_is_left_alone_and_runs_go_on_from_a_student():
    teacher, start = random_pair(np.random.default_rng(9), 0.1)
    value, key_query = start.value.copy(), start.key_query.copy()
    halfway = descend(teacher, 0.05, 10, student=start).student
    descend_online(teacher, 0.05, 3, np.random.default_rng(0), student=start)
    np.testing.assert_array_equal(start.value, value)
    np.testing.assert_array_equal(start.key_query, key_query)
    whole, rest = descend(teacher, 0.05, 25, student=start), descend(teacher, 0.05, 15, student=halfway)
    np.testing.assert_allclose(rest.student.value, whole.student.value, rtol=1e-10)
    np.testing.assert_allclose(rest.excess_loss[-1], whole.excess_loss[-1], rtol=1e-10)


def test_no_steps():
    teacher = pooling(np.random.default_rng(10), 1.0)
    for history in (descend(teacher, 0.1, 0), descend_online(teacher, 0.1, 0, np.random.default_rng(0))):
        assert history.steps.tolist() == [0]
        assert history.excess_loss[0] == pytest.approx(12 * np.sum(teacher.value**2) / 6)
        assert not history.student.value.any()


def test_online_runs_repeat_with_their_seed_and_not_with_another():
    teacher = pooling(np.random.default_rng(11), 0.1)
    np.random.seed(1)  # the global generator must not matter
    first = descend_online(teacher, 0.02, 20, np.random.default_rng(5), noise=0.1)
    np.random.seed(2)
    second = descend_online(teacher, 0.02, 20, np.random.default_rng(5), noise=0.1, record=[3, 20])
    other = descend_online(teacher, 0.02, 20, np.random.default_rng(6), noise=0.1)
    np.testing.assert_array_equal(first.student.value, second.student.value)
    assert (first.student.value != other.student.value).any()


def test_online_batch_loss_estimates_the_loss_with_the_noise():
    teacher, start = random_pair(np.random.default_rng(12), 0.5)
    rng = np.random.default_rng(13)
    losses = [
        descend_online(teacher, 0.1, 0, rng, batch=50, noise=0.7, student=start).batch_loss[0] for _ in range(300)
    ]
    assert_mean(losses, population.excess_loss(teacher, start) + 0.7**2 * 3 * 5 / 2)


def test_online_draws_from_the_given_sample():
    teacher = pooling(np.random.default_rng(14), 0.1)
    seen = []

    def exponential(rng, batch):
        seen.append(batch)
        return rng.exponential(size=(batch, 5, 12))

    history = descend_online(teacher, 0.005, 4, np.random.default_rng(0), batch=7, sample=exponential, record=[0, 4])
    assert seen == [7] * 5 and history.batch_loss.shape == (2,)
    x = np.random.default_rng(0).exponential(size=(7, 5, 12))
    assert history.batch_loss[0] == pytest.approx(np.sum(teacher(x) ** 2) / 14)


def test_online_descent_learns():
    teacher = pooling(np.random.default_rng(15), 0.1, D=6, K=2, d=3, M=4)
    history = descend_online(teacher, 0.05, 1500, np.random.default_rng(16), batch=20, noise=0.1)
    assert history.excess_loss[-1] < 0.05 * history.excess_loss[0]
    assert history.cosine[-1] > 0.999


def test_log_spaced():
    assert log_spaced(0).tolist() == [0]
    assert log_spaced(1).tolist() == [0, 1]
    assert log_spaced(5).tolist() == [0, 1, 2, 3, 4, 5]
    steps = log_spaced(10**6, 50)
    assert steps[0] == 0 and steps[-1] == 10**6 and len(steps) <= 52 and (np.diff(steps) > 0).all()
    ratios = steps[20:] / steps[19:-1]
    assert ratios.max() / ratios.min() < 1.1


def test_progress_bar_shows_and_is_off_by_default(capsys):
    teacher = pooling(np.random.default_rng(17), 1.0)
    descend(teacher, 0.1, 3)
    assert capsys.readouterr() == ("", "")
    descend(teacher, 0.1, 3, progress=True)
    assert "4/4" in capsys.readouterr().err


def test_memory_of_a_run_at_D_1024():
    """At most 6 arrays of D x D, with records and the student at the end."""
    teacher = pooling(np.random.default_rng(18), 0.1, D=1024, K=16, d=16, M=16)
    tracemalloc.start()
    descend(teacher, 0.01, 2, record=[0, 2])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 6 * 8 * 1024**2


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("step_size", [100.0, 1e150, 1e300])
def test_a_diverging_run_says_so(step_size):
    teacher = pooling(np.random.default_rng(19), 0.1)
    message = "step_size must be smaller, with .* the run diverged at step"
    with pytest.raises(ValueError, match=message):
        descend(teacher, step_size, 500)
    with pytest.raises(ValueError, match=message):
        descend_online(teacher, step_size, 500, np.random.default_rng(0), batch=5)


TEACHER = pooling(np.random.default_rng(20), 0.1)
STUDENT = Student.initial(TEACHER)
GOOD = {"teacher": TEACHER, "step_size": 0.1, "steps": 2}
RNG = np.random.default_rng(21)

BAD = [
    ({"teacher": STUDENT}, "teacher must be a Teacher, was Student"),
    ({"step_size": 0}, "step_size must be positive, was 0"),
    ({"step_size": -0.1}, "step_size must be positive, was -0.1"),
    ({"step_size": [0.1, 0.2]}, r"step_size must be one number, had shape \(2,\)"),
    ({"steps": -1}, "steps must be at least 0, was -1"),
    ({"steps": 2.0}, "steps must be a whole number, was 2.0"),
    ({"logit_scale": 0}, "logit_scale must be positive, was 0"),
    ({"student": TEACHER}, "student must be a Student, was Teacher"),
    ({"student": Student.initial(pooling(RNG, 0.5))}, "student must have the teacher's slope 0.1, had 0.5"),
    ({"student": Student(np.ones((3, 5)), np.eye(11), slope=0.1)}, r"student must have the teacher's shapes"),
    ({"student": STUDENT, "positions": np.eye(12)}, "positions must be left out where a student is given"),
    ({"positions": np.ones((12, 12))}, "positions must be orthogonal"),
    ({"positions": np.eye(3)}, r"positions must have shape \(12, 12\), had \(3, 3\)"),
    ({"record": []}, "record must not be empty"),
    ({"record": [0, 3]}, r"record must be rising whole numbers from 0 to 2, was \[0.0, 3.0\]"),
    ({"record": [-1, 0]}, "record must be rising whole numbers from 0 to 2"),
    ({"record": [1, 1]}, "record must be rising whole numbers from 0 to 2"),
    ({"record": [2, 1]}, "record must be rising whole numbers from 0 to 2"),
    ({"record": [0.5]}, "record must be rising whole numbers from 0 to 2"),
    ({"record": 1}, r"record must have 1 dimensions, had shape \(\)"),
    ({"record": [[0, 1]]}, r"record must have 1 dimensions, had shape \(1, 2\)"),
]
BAD_ONLINE = [
    ({"rng": None}, "rng must be a numpy.random.Generator such as default_rng.0., was None"),
    ({"rng": 3}, "rng must be a numpy.random.Generator"),
    ({"rng": np.random}, "rng must be a numpy.random.Generator"),
    ({"rng": np.random.RandomState(0)}, "rng must be a numpy.random.Generator"),
    ({"batch": 0}, "batch must be at least 1, was 0"),
    ({"batch": 2.5}, "batch must be a whole number, was 2.5"),
    ({"noise": -1}, "noise must not be negative, was -1"),
    ({"noise": [0.1, 0.2]}, r"noise must be one number, had shape \(2,\)"),
    ({"sample": np.ones((100, 5, 12))}, "sample must be a function"),
    ({"sample": lambda rng, batch: np.ones((batch, 5, 11))}, r"sample must have shape .*, had \(100, 5, 11\)"),
    ({"sample": lambda rng, batch: np.full((batch, 5, 12), np.nan)}, "sample must be finite"),
    ({"sample": lambda rng, batch: None}, "sample must be an array of real numbers, was None"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_input_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        descend(**GOOD | change)
    with pytest.raises(ValueError, match=message):
        descend_online(**GOOD | {"rng": np.random.default_rng(0)} | change)


@pytest.mark.parametrize(("change", "message"), BAD_ONLINE)
def test_bad_input_of_online_runs_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        descend_online(**GOOD | {"rng": np.random.default_rng(0)} | change)


def test_what_is_no_number_is_named():
    for name in ("teacher", "step_size", "steps", "logit_scale", "batch", "noise"):
        for bad in NOT_NUMBERS:
            with pytest.raises(ValueError, match=f"^{name} must"):
                descend_online(**GOOD | {"rng": np.random.default_rng(0)} | {name: bad})
    for name in ("student", "positions", "record"):
        for bad in NOT_NUMBERS[1:]:
            with pytest.raises(ValueError, match=f"^{name} must"):
                descend(**GOOD | {name: bad})


def test_bad_input_of_the_helpers():
    for bad in (-1, 2.5, None, "3", True):
        with pytest.raises(ValueError, match="^steps must"):
            log_spaced(bad)
    with pytest.raises(ValueError, match="count must be at least 1, was 0"):
        log_spaced(5, 0)
    good = {"inputs": np.ones((2, 3, 4)), "labels": np.ones((2, 5, 4)), "value": np.ones((5, 3)), "scores": np.eye(4)}
    batch_gradient(**good, slope=0.1)
    for name, array in good.items():
        for bad in (*NOT_NUMBERS, array[..., :-1], array[None], np.full(array.shape, np.nan)):
            with pytest.raises(ValueError, match="^(inputs|labels|value|scores) must"):
                batch_gradient(**good | {name: bad}, slope=0.1)
    with pytest.raises(ValueError, match="^slope must"):
        batch_gradient(**good, slope=2)


def test_teachers_whose_scores_are_not_uniform_can_be_trained_on():
    """Without K: descent lowers the loss of any teacher of the model."""
    teacher, _ = random_pair(np.random.default_rng(22), 0.5)
    history = descend(teacher, 0.05, 4000)
    assert history.excess_loss[-1] < 0.1 * history.excess_loss[0]
    assert isinstance(history.student, bl.Student)
