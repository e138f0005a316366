"""bilinear.dynamics: two scalars against whole matrices, differences, the flow and the 1/4 law; mutants; bad input."""

import time

import networkx as nx
import numpy as np
import pytest
from bilinear import Student, Teacher, dynamics, moments, population, rates, teachers, training
from bilinear.dynamics import Reduced, read_constants, student_at
from cases import NOT_NUMBERS, SLOPES, five_teachers, mutant, orthogonal, pooling, random_pair
from hypothesis import given
from hypothesis import strategies as st


def check_map(dynamics, steps=300):
    """The matrices follow the two scalars, to 1e-9, and keep the invariant form."""
    for slope in SLOPES:
        for teacher in five_teachers(slope):
            norm = np.linalg.norm(teacher.value)
            step_size = 0.5 * rates.largest_step_size(teacher.D, teacher.K, slope)
            record = [1, 2, 10, steps // 3, steps]
            history = training.descend(teacher, step_size, steps, record=record)
            reduced = dynamics.Reduced(teacher.D, teacher.K, norm, slope)
            c1, delta = reduced.run(step_size, steps, record=record)
            found = dynamics.read_constants(teacher, history.student)
            assert found.value_residual < 1e-9 and found.key_query_residual < 1e-9
            assert [found.c1, found.delta] == pytest.approx([c1[-1], delta[-1]], rel=1e-9)
            np.testing.assert_allclose(reduced.loss(c1, delta), history.excess_loss, rtol=1e-9)
            p, q = reduced.scores(delta)
            entries = teacher.K * teacher.D * (p - 1 / teacher.K) ** 2 + teacher.D * (teacher.D - teacher.K) * q**2
            np.testing.assert_allclose(np.sqrt(entries), history.score_error, rtol=1e-9)
            np.testing.assert_allclose(norm * abs(c1 - 1), history.value_error, rtol=1e-9, atol=1e-12)


def check_velocity(dynamics):
    """(-dL/dC1/||V*||^2, -dL/ddelta/(D K (D-K))) by central differences, at both signs of C1 and of delta."""
    h = 1e-5
    for slope in SLOPES:
        for D, K in ((2, 1), (12, 3), (12, 9), (40, 1)):
            reduced = dynamics.Reduced(D, K, 1.7, slope)
            c1, delta = np.meshgrid([-2.0, -0.3, 0.2, 1.0, 3.0], [-2.0, 0.0, 0.5, 3.0])
            first = (reduced.loss(c1 + h, delta) - reduced.loss(c1 - h, delta)) / (2 * h)
            second = (reduced.loss(c1, delta + h) - reduced.loss(c1, delta - h)) / (2 * h)
            ours = reduced.velocity(c1, delta)
            np.testing.assert_allclose(ours[0], -first / 1.7**2, atol=1e-8 * D)
            np.testing.assert_allclose(ours[1], -second / (D * K * (D - K)), atol=1e-8)


def check_loss(dynamics):
    """The reduced loss is the exact loss of the student of that form, wherever C1 and delta are."""
    rng = np.random.default_rng(0)
    for slope in SLOPES:
        teacher = pooling(rng, slope)
        reduced = dynamics.Reduced(12, 3, np.linalg.norm(teacher.value), slope)
        for c1 in (-1.5, 0.0, 0.4, 1.0, 2.0):
            for delta in (-3.0, 0.0, 1.0, 6.0):
                student = dynamics.student_at(teacher, c1, delta)
                assert reduced.loss(c1, delta) == pytest.approx(population.excess_loss(teacher, student), rel=1e-9)


CHECKS = (check_map, check_velocity, check_loss)


@pytest.mark.parametrize("check", CHECKS)
def test_two_scalars(check):
    check(dynamics)


@pytest.mark.parametrize("slope", SLOPES)
def test_two_scalars_over_2000_steps(slope):
    """All of the teachers that have this slope, to 1e-9."""
    for teacher in five_teachers(slope):
        step_size = 0.5 * rates.largest_step_size(teacher.D, teacher.K, slope)
        code = orthogonal(np.random.default_rng(1), teacher.D)
        history = training.descend(teacher, step_size, 2000, positions=code, record=[2000])
        reduced = Reduced(teacher.D, teacher.K, np.linalg.norm(teacher.value), slope)
        c1, delta = reduced.run(step_size, 2000)
        found = read_constants(teacher, history.student)
        assert [found.c1, found.delta] == pytest.approx([c1, delta], rel=1e-9)
        assert found.value_residual < 1e-9 and found.key_query_residual < 1e-9
        np.testing.assert_allclose(found.c3 * (teacher.D - teacher.K), found.c2 * teacher.K, rtol=1e-8)
        assert history.excess_loss[0] == pytest.approx(reduced.loss(c1, delta), rel=1e-8)


@pytest.mark.parametrize(
    ("old", "new", "check"),
    [
        # K and D - K exchanged, in the scores, in the angle and in the fast path of one setting
        ("self.K * high + (self.D - self.K) * low", "(self.D - self.K) * high + self.K * low", check_loss),
        ("np.sqrt((self.D - self.K) / self.K) * q", "np.sqrt(self.K / (self.D - self.K)) * q", check_velocity),
        ("sqrt((D - K) / K)", "sqrt(K / (D - K))", check_map),
        # gamma dropped, in both paths
        ("both = self._alpha - self._gamma * theta", "both = self._alpha - 0 * theta", check_velocity),
        ("both = alpha - gamma * theta", "both = alpha", check_map),
        ("bent = gamma * c1 * tangent", "bent = 0 * c1 * tangent", check_map),
        # constants
        ("/ self.K - (self._alpha", "- (self._alpha", check_velocity),
        ("self._gamma * np.abs(c1) * slant", "2 * self._gamma * np.abs(c1) * slant", check_velocity),
        ("self.D * self.value_norm**2 / 2", "self.D * self.value_norm**2", check_loss),
        # sigma'(0) = kappa
        ("(1 + self.slope) / 2", "self.slope * (1 + self.slope) / 2", check_map),
        # the sign of C1
        ("np.where(c1 < 0, np.pi - theta, theta)  #", "theta  #", check_loss),
        ("sign * self._gamma", "self._gamma", check_velocity),
    ],
)
def test_the_checks_refuse_a_wrong_formula(old, new, check):
    with pytest.raises(AssertionError):
        check(mutant(dynamics, old, new))


def test_a_wrong_kernel_is_refused_by_the_same_checks(monkeypatch):
    """The loss takes its kernel from `moments`, the velocity does not: a wrong constant sets them at odds."""
    monkeypatch.setattr(moments, "gamma", lambda slope: (1 - np.asarray(slope)) ** 2 / (4 * np.pi))
    wrong = mutant(dynamics, "moments.gamma(self.slope)", "(1 - self.slope) ** 2 / (2 * math.pi)")
    with pytest.raises(AssertionError):
        check_velocity(wrong)


@given(st.integers(0, 10**6), st.sampled_from(SLOPES))
def test_one_setting_and_a_sweep_are_the_same_map(seed, slope):
    rng = np.random.default_rng(seed)
    D = int(rng.integers(2, 40))
    K = int(rng.integers(1, D))
    reduced, sweep = Reduced(D, K, 1.3, slope), Reduced(D, [K, K], 1.3, slope)
    start = rng.normal(size=2) * (1, 3)
    step_size = float(rng.uniform(0.1, 0.9)) * rates.largest_step_size(D, K, slope)
    one, two = reduced.run(step_size, 40, start), sweep.run(step_size, 40, start)
    state = start
    for _ in range(40):
        state = reduced.step(*state, step_size)
    for single, swept, stepped in zip(one, two, state, strict=True):
        assert swept == pytest.approx([single, single], rel=1e-9, abs=1e-12)
        assert stepped == pytest.approx(single, rel=1e-9, abs=1e-12)


def test_a_sweep_broadcasts_and_records():
    D, slopes = np.array([[8], [12], [20]]), np.array([0.0, 0.1, 0.5, 1.0])
    c1, delta = Reduced(D, 4, 2.0, slopes).run(0.05, 50, record=[0, 10, 50])
    assert c1.shape == delta.shape == (3, 3, 4)
    assert not c1[0].any() and not delta[0].any()
    one = Reduced(12, 4, 2.0, 0.5).run(0.05, 50, record=[0, 10, 50])
    np.testing.assert_allclose(c1[:, 1, 2], one[0], rtol=1e-12)
    np.testing.assert_allclose(delta[:, 1, 2], one[1], rtol=1e-12)
    assert Reduced(12, 4).run([0.01, 0.02], 3)[0].shape == (2,)
    assert Reduced(12, 4).run(0.01, 3, start=([0.0, 1.0], 0.0))[0].shape == (2,)
    assert isinstance(Reduced(12, 4).run(0.01, 3)[0], float)


@pytest.mark.parametrize("slope", SLOPES)
def test_scores_angle_and_length_agree_with_the_student(slope):
    teacher = pooling(np.random.default_rng(2), slope)
    reduced = Reduced(12, 3, 1.0, slope)
    for delta in (-2.0, 0.0, 1.0, 5.0):
        scores = student_at(teacher, 1.0, delta).scores
        on = teacher.scores > 0
        p, q = reduced.scores(delta)
        np.testing.assert_allclose(scores[on], p, rtol=1e-12)
        np.testing.assert_allclose(scores[~on], q, rtol=1e-12)
        angle = moments.angle_between(scores[:, 0], teacher.scores[:, 0])
        assert reduced.angle(delta) == pytest.approx(angle, rel=1e-9)


@pytest.mark.filterwarnings("error")
def test_far_out_nothing_overflows():
    for slope in SLOPES:
        reduced = Reduced(12, 3, 2.0, slope)
        far = np.array([-1e4, 1e4])
        np.testing.assert_allclose(reduced.scores(far), [[0, 1 / 3], [1 / 9, 0]])
        np.testing.assert_allclose(reduced.angle(far), [np.pi / 2, 0], atol=1e-15)
        for c1 in (-1.0, 0.0, 1.0):
            assert np.isfinite(reduced.loss(c1, far)).all()
            assert np.isfinite(reduced.velocity(c1, far)).all()
        for start in ((1.0, -1e4), (1.0, 1e4), (-1.0, -400.0)):
            assert np.isfinite(reduced.run(0.01, 50, start)).all()


@pytest.mark.filterwarnings("error")
def test_a_diverging_run_gives_nan_and_leaves_the_rest_of_the_sweep():
    for step_size in (100.0, 1e100, 1e300):
        assert np.isnan(Reduced(12, 3, 2.0, 0.1).run(step_size, 500)).all()
        c1, delta = Reduced(12, 3, 2.0, 0.1).run([step_size, 0.01], 500)
        assert np.isnan([c1[0], delta[0]]).all()
        assert (c1[1], delta[1]) == pytest.approx(Reduced(12, 3, 2.0, 0.1).run(0.01, 500))


# ---- the gradient flow and the laws at late times


@pytest.mark.parametrize("slope", SLOPES)
@pytest.mark.parametrize(("D", "K"), [(2, 1), (36, 4), (81, 9), (20, 19), (4096, 16)])
def test_one_quarter_at_a_million_million(slope, D, K):
    """eta T (L - L_opt)/(K D (D-K)) -> 1/4, with the constants of both errors, at eta T = 10^12."""
    norm, end = 1.6, 1e12
    reduced = Reduced(D, K, norm, slope)
    c1, delta = (part[0] for part in reduced.flow([end]))
    p, q = reduced.scores(delta)
    assert end * reduced.loss(c1, delta) / (K * D * (D - K)) == pytest.approx(1 / 4, rel=0.01)
    # 1 - K p = (D - K) q: both parts of ||S - S*||_F without the difference
    score_error = np.sqrt(D * (D - K) * q**2 * (1 + (D - K) / K))
    assert score_error == pytest.approx(rates.score_error(D, K, norm, slope, end), rel=0.01)
    assert norm * abs(c1 - 1) == pytest.approx(rates.value_error(D, K, slope, end), rel=0.02)
    assert 1 / np.tan(reduced.angle(delta)) ** 2 == pytest.approx(rates.growth(D, K, norm, slope) * end, rel=0.01)


@pytest.mark.parametrize("slope", SLOPES)
def test_one_quarter_after_a_moderate_number_of_steps(slope):
    """By the map itself, a few hundred thousand steps."""
    D, K, norm = 8, 2, 2.0
    step_size, steps = 0.5 * rates.largest_step_size(D, K, slope), 300_000
    reduced = Reduced(D, K, norm, slope)
    loss = reduced.loss(*reduced.run(step_size, steps))
    assert loss == pytest.approx(rates.excess_loss(D, K, step_size * steps), rel=0.01)


def test_one_quarter_with_matrices():
    teacher = teachers.graph_convolution(6 * np.eye(3), nx.cycle_graph(5), 0.1)
    history = training.descend(teacher, 0.5, 6000, record=[6000])
    assert history.excess_loss[0] == pytest.approx(rates.excess_loss(5, 3, 0.5 * 6000), rel=0.01)


@pytest.mark.parametrize("slope", SLOPES)
def test_flow_is_the_limit_of_small_steps(slope):
    reduced = Reduced(12, 3, 1.5, slope)
    times = np.array([0.5, 5.0, 50.0])
    c1, delta = reduced.flow(times)
    errors = []
    for step_size in (0.01, 0.005):
        path = reduced.run(step_size, round(50 / step_size), record=np.round(times / step_size))
        errors.append(max(abs(path[0] - c1).max(), abs(path[1] - delta).max()))
    assert errors[0] < 0.01 and errors[1] == pytest.approx(errors[0] / 2, rel=0.1)


def test_flow_from_another_start_and_at_one_early_time():
    reduced = Reduced(12, 3, 1.5, 0.1)
    whole = reduced.flow([1.0, 3.0])
    rest = reduced.flow([2.0], start=(whole[0][0], whole[1][0]))
    np.testing.assert_allclose([rest[0][0], rest[1][0]], [whole[0][1], whole[1][1]], rtol=1e-7)
    c1, delta = reduced.flow([1e-12])
    assert c1 == pytest.approx([1e-12 * 0.55]) and delta == pytest.approx([0], abs=1e-20)


def test_flow_of_the_identity_ends_on_the_exact_solution():
    """Once C1 is at its optimum, y + 2 ln y - 1/y grows linearly: y(t) at late times."""
    times = np.geomspace(1e6, 1e12, 7)
    _, delta = Reduced(20, 4, 1.3).flow(times)
    y = 4 * np.exp(2 * delta) / 16
    np.testing.assert_allclose(y, rates.identity_y(20, 4, 1.3, times), rtol=1e-3)


def test_a_million_steps_of_one_setting():
    """3 s are the budget on an idle machine; here the best of a few tries on a tenth of the steps."""
    reduced, best = Reduced(36, 4, 2.0, 0.1), np.inf
    for _ in range(5):
        start = time.process_time()
        reduced.run(0.05, 100_000)
        best = min(best, time.process_time() - start)
        if best <= 0.3:
            break
    assert best <= 0.3


# ---- reading and making students


def test_constants_of_a_student_of_the_form_and_of_another():
    rng = np.random.default_rng(3)
    teacher, code = pooling(rng, 0.1), orthogonal(rng, 12)
    on = teacher.scores > 0
    student = Student(1.3 * teacher.value, code @ np.where(on, 0.7, -0.2) @ code.T, code, 0.1)
    found = read_constants(teacher, student)
    assert found[:4] == pytest.approx((1.3, 0.7, 0.2, 0.9 / np.sqrt(12)))
    assert max(found[4:]) < 1e-14
    _, other = random_pair(rng, 0.1, teacher=teacher)
    assert min(read_constants(teacher, other)[4:]) > 0.1
    assert read_constants(teacher, Student.initial(teacher)) == (0, 0, 0, 0, 0, 0)


def test_constants_when_every_position_is_a_neighbour_and_when_the_teacher_is_zero():
    teacher = teachers.convolution_with_pooling(np.zeros((2, 3)), [[0, 1, 2]])
    found = read_constants(teacher, Student(np.ones((2, 3)), np.full((3, 3), 2.0)))
    assert (found.c1, found.c2, found.c3) == (0, pytest.approx(2), 0)


def test_student_at_has_its_two_numbers():
    teacher, code = pooling(np.random.default_rng(4), 0.5), orthogonal(np.random.default_rng(5), 12)
    for positions in (None, code):
        found = read_constants(teacher, student_at(teacher, -0.7, 2.5, positions))
        assert (found.c1, found.delta) == pytest.approx((-0.7, 2.5))
        assert found.c3 / found.c2 == pytest.approx(3 / 9)
        assert max(found[4:]) < 1e-13


# ---- bad input

UNIFORM = pooling(np.random.default_rng(0), 1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Reduced(3, 3), "K must be below D, was K = 3.0 with D = 3.0"),
        (lambda: Reduced([4, 8], [3, 8]), r"K must be below D, was K = \[3. 8.\] with D = \[4. 8.\]"),
        (lambda: Reduced(0, 1), "D must be positive, was 0"),
        (lambda: Reduced(4, 0), "K must be positive, was 0"),
        (lambda: Reduced(4.5, 1), "D must be a whole number, was 4.5"),
        (lambda: Reduced(4, [1, 1.5]), r"K must be a whole number, was"),
        (lambda: Reduced(4, 2, 0), "value_norm must be positive, was 0"),
        (lambda: Reduced(4, 2, 1, 1.1), r"slope must lie in \[0, 1\], was 1.1"),
        (lambda: Reduced([4, 5], [1, 2, 3]), r"broadcast against each other, were D \(2,\), K \(3,\)"),
        (lambda: Reduced([4, 5], 1, 1.0, [0, 0.1, 1]), r"slope \(3,\)"),
        (lambda: Reduced(4, 2).loss([1, 2], [1, 2, 3]), r"broadcast against each other, were c1 \(2,\), delta \(3,\)"),
        (lambda: Reduced([4, 5], 2).loss([1, 2, 3], 0), r"c1 \(3,\), delta \(\), settings \(2,\)"),
        (lambda: Reduced([4, 5], 2).scores([1, 2, 3]), r"delta \(3,\), settings \(2,\)"),
        (lambda: Reduced(4, 2).step(1, 1, 0), "step_size must be positive, was 0"),
        (lambda: Reduced(4, 2).step([1, 2], 1, [1, 2, 3]), r"step_size \(3,\)"),
        (lambda: Reduced(4, 2).run(-1, 5), "step_size must be positive, was -1"),
        (lambda: Reduced(4, 2).run(0.1, -5), "steps must be at least 0, was -5"),
        (lambda: Reduced(4, 2).run(0.1, 5.0), "steps must be a whole number, was 5.0"),
        (lambda: Reduced([4, 5], 2).run([0.1, 0.2, 0.3], 5), r"settings \(2,\), step_size \(3,\)"),
        (lambda: Reduced(4, 2).run(0.1, 5, record=[6]), r"record must be rising .* from 0 to 5, was \[6.0\]"),
        (lambda: Reduced(4, 2).run(0.1, 5, record=[]), "record must not be empty"),
        (lambda: Reduced(4, 2).run(0.1, 5, start=3), r"start must be the pair \(c1, delta\), was 3"),
        (lambda: Reduced(4, 2).run(0.1, 5, start=(1, 2, 3)), r"start must be the pair \(c1, delta\), was \(1, 2, 3\)"),
        (lambda: Reduced(4, 2).run(0.1, 5, start="ab"), "c1 must be an array of real numbers, was 'a'"),
        (lambda: Reduced(4, 2).run(0.1, 5, start=(0, np.nan)), "delta must be finite"),
        (lambda: Reduced(4, 2).flow([]), "times must not be empty"),
        (lambda: Reduced(4, 2).flow([0, 1]), "times must be positive"),
        (lambda: Reduced(4, 2).flow([2, 1]), "times must be one rising row of numbers, was"),
        (lambda: Reduced(4, 2).flow([[1, 2]]), "times must be one rising row of numbers, was"),
        (lambda: Reduced([4, 5], 2).flow([1]), "flow follows one setting, the settings are a sweep"),
        (lambda: Reduced(4, 2).flow([1], rtol=0), "rtol must be positive, was 0"),
        (lambda: Reduced(4, 2).flow([1], start=(1, [2, 3])), r"start must be one number, had shape \(2,\)"),
        (lambda: Reduced(4, 2).flow([1], start=5), r"start must be the pair \(c1, delta\), was 5"),
        (lambda: student_at("teacher", 1, 1), "teacher must be a Teacher, was 'teacher'"),
        (lambda: student_at(UNIFORM, [1, 2], 1), r"c1 must be one number, had shape \(2,\)"),
        (lambda: read_constants(1, 2), "teacher must be a Teacher, was 1"),
        (lambda: read_constants(*random_pair(np.random.default_rng(0), 1)), "K is defined for"),
        (lambda: student_at(Teacher(np.eye(2), [[0.7, 0.3], [0.3, 0.7]]), 1, 1), "K is defined for uniform scores"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_what_is_no_number_is_named():
    reduced = Reduced(4, 2)
    calls = {
        "D": lambda bad: Reduced(bad, 2),
        "K": lambda bad: Reduced(4, bad),
        "value_norm": lambda bad: Reduced(4, 2, bad),
        "slope": lambda bad: Reduced(4, 2, 1.0, bad),
        "delta": lambda bad: [method(bad) for method in (reduced.scores, reduced.angle)],
        "c1": lambda bad: reduced.loss(bad, 1.0),
        "c1 ": lambda bad: reduced.velocity(bad, 1.0),
        "step_size": lambda bad: reduced.step(1.0, 1.0, bad),
        "step_size ": lambda bad: reduced.run(bad, 2),
        "steps": lambda bad: reduced.run(0.1, bad),
        "times": lambda bad: reduced.flow(bad),
        "rtol": lambda bad: reduced.flow([1.0], rtol=bad),
        "c1  ": lambda bad: student_at(UNIFORM, bad, 1.0),
        "delta ": lambda bad: student_at(UNIFORM, 1.0, bad),
    }
    for name, call in calls.items():
        for bad in NOT_NUMBERS:
            with pytest.raises(ValueError, match=f"^{name.strip()} must"):
                call(bad)
