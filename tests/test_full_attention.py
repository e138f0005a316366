"""bilinear.full_attention: its gradient, the position-only student as a special case, bad input."""

import bilinear as bl
import numpy as np
import pytest
from bilinear import full_attention as full

D, M, d, K = 6, 3, 2, 2


def conv(rng, slope=1.0):
    return bl.teachers.convolution_with_pooling(rng.normal(size=(M, d)), np.arange(D).reshape(-1, K), slope)


def orthogonal(rng):
    return np.linalg.qr(rng.standard_normal((D, D)))[0]


def model(rng):
    return rng.normal(size=(M, d + D)), rng.normal(size=(d + D, d + D))


@pytest.mark.parametrize("slope", [0.0, 0.1, 1.0])
def test_forward_is_the_definition_for_each_input_of_a_batch(slope):
    rng = np.random.default_rng(0)
    value, key_query = model(rng)
    positions = orthogonal(rng)
    batch = rng.standard_normal((2, 3, d, D))
    outputs = full.forward(batch, value, key_query, positions, slope)
    assert outputs.shape == (2, 3, M, D)
    for index in np.ndindex(2, 3):
        stacked = np.vstack([batch[index], positions])
        exponentials = np.exp(stacked.T @ key_query @ stacked / np.sqrt(D))
        weights = exponentials / exponentials.sum(axis=0)
        hidden = value @ stacked @ weights
        assert outputs[index] == pytest.approx(np.where(hidden > 0, hidden, slope * hidden), rel=1e-10, abs=1e-12)
        assert full.scores(batch[index], key_query, positions) == pytest.approx(weights, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("slope", [0.0, 0.1, 1.0])
def test_gradient_agrees_with_finite_differences_in_every_entry(slope):
    rng = np.random.default_rng(1)
    value, key_query = model(rng)
    positions = orthogonal(rng)
    inputs, labels = rng.standard_normal((4, d, D)), rng.standard_normal((4, M, D))

    def loss(value, key_query):
        return np.sum((labels - full.forward(inputs, value, key_query, positions, slope)) ** 2) / 8

    at, d_value, d_key_query = full.gradient(inputs, labels, value, key_query, positions, slope)
    assert at == pytest.approx(loss(value, key_query), rel=1e-12)
    for block, found in ((value, d_value), (key_query, d_key_query)):
        for index in np.ndindex(block.shape):
            kept, ends = block[index], []
            for step in (1e-6, -1e-6):
                block[index] = kept + step
                ends.append(loss(value, key_query))
            block[index] = kept
            assert found[index] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("slope", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_two_blocks_alone_are_the_position_only_student(slope, noise):
    rng = np.random.default_rng(2)
    teacher, positions = conv(rng, slope), orthogonal(rng)
    found = full.descend_online(
        teacher, 0.1, 200, np.random.default_rng(3), noise=noise, positions=positions, two_blocks=True
    )
    plain = bl.training.descend_online(teacher, 0.1, 200, np.random.default_rng(3), noise=noise, positions=positions)
    parts = full.blocks(found.value, found.key_query, d)
    assert parts["W_V"] == pytest.approx(plain.student.value, rel=1e-9, abs=1e-12)
    assert parts["W_KQ"] == pytest.approx(plain.student.key_query, rel=1e-9, abs=1e-10)
    assert found.batch_loss == pytest.approx(plain.batch_loss, rel=1e-9)
    assert all(not parts[name].any() for name in ("U", "W_11", "W_12", "W_21"))
    inputs = rng.standard_normal((5, d, D))
    outputs = full.forward(inputs, found.value, found.key_query, positions, slope)
    assert outputs == pytest.approx(plain.student(inputs), rel=1e-9, abs=1e-12)


def test_the_other_blocks_do_move_when_they_are_trained():
    teacher = conv(np.random.default_rng(4))
    found = full.descend_online(teacher, 0.1, 5, np.random.default_rng(3))
    assert (found.change[-1] > 0).all()


def test_opposite_inputs_leave_three_blocks_at_zero_for_the_identity_only():
    rng = np.random.default_rng(5)
    value, key_query = model(rng)
    parts = full.blocks(value, key_query, d)
    for name in ("U", "W_12", "W_21"):
        parts[name][:] = 0
    half = rng.standard_normal((10, d, D))
    inputs = np.concatenate([half, -half])
    for slope in (1.0, 0.1):
        teacher = conv(np.random.default_rng(6), slope)
        squared = full.squared_norms(*full.gradient(inputs, teacher(inputs), value, key_query, slope=slope)[1:], d)
        small = squared < 1e-20 * squared.max()
        assert small.tolist() == [False, slope == 1, False, slope == 1, slope == 1, False]


def test_every_orthogonal_encoding_gives_the_same_norms():
    teacher, positions = conv(np.random.default_rng(7), 0.0), orthogonal(np.random.default_rng(8))
    runs = [full.descend_online(teacher, 0.1, 100, np.random.default_rng(9), positions=p) for p in (None, positions)]
    assert runs[1].change == pytest.approx(runs[0].change, rel=1e-8)


def test_history_measures_the_change_from_where_it_started():
    rng = np.random.default_rng(10)
    teacher = conv(rng)
    value, key_query = model(rng)
    run = full.descend_online(teacher, 0.1, 3, rng, value=value, key_query=key_query, record=[0, 1, 3])
    assert not run.change[0].any() and run.steps.tolist() == [0, 1, 3]
    assert run.change[1] == pytest.approx(0.01 * run.update[0], rel=1e-9)
    assert run.matrix[-1] == pytest.approx(full.squared_norms(run.value, run.key_query, d), rel=1e-12)
    assert run.change[-1] == pytest.approx(
        full.squared_norms(run.value - value, run.key_query - key_query, d), rel=1e-12
    )


def test_shares_add_up_and_zero_has_none():
    assert full.shares([1, 3, 1, 1, 1, 1]).tolist() == [0.25, 0.75, 0.25, 0.25, 0.25, 0.25]
    assert full.shares(np.zeros((2, 6))).tolist() == [[0.0] * 6] * 2


def test_it_does_not_change_what_it_is_given():
    rng = np.random.default_rng(11)
    value, key_query = model(rng)
    before = value.copy(), key_query.copy()
    full.descend_online(conv(rng), 0.1, 3, rng, value=value, key_query=key_query)
    assert np.array_equal(before[0], value) and np.array_equal(before[1], key_query)


X, Y = np.zeros((4, d, D)), np.zeros((4, M, D))
V, W = np.zeros((M, d + D)), np.zeros((d + D, d + D))


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: full.forward(np.zeros(3), V, W), "inputs must have shape"),
        (lambda: full.forward(X * np.nan, V, W), "inputs must be finite"),
        (lambda: full.forward(X, V[:, 1:], W), "value must have shape"),
        (lambda: full.forward(X, V, W[1:]), "key_query must have shape"),
        (lambda: full.forward(X, V, W, np.ones((D, D))), "positions must be orthogonal"),
        (lambda: full.forward(X, V, W, np.eye(D + 1)), "positions must have shape"),
        (lambda: full.forward(X, V, W, slope=2), "slope must lie"),
        (lambda: full.scores(X, 5.0), "key_query must have shape"),
        (lambda: full.scores(X, W[1:]), "key_query must have shape"),
        (lambda: full.gradient(X[0], Y[0], V, W), r"inputs must have shape \(N, d, D\)"),
        (lambda: full.gradient(X, Y[:, 1:], V, W), "labels must have shape"),
        (lambda: full.gradient(X, Y, V, W, slope=-1), "slope must lie"),
        (lambda: full.blocks(V, W, d + D), "d must be less"),
        (lambda: full.blocks(V, W, 0), "d must be at least 1"),
        (lambda: full.blocks(V, W[1:], d), "key_query must have shape"),
        (lambda: full.shares([1, 2]), "squared must hold 6"),
        (lambda: full.shares([1, 2, 3, 4, 5, -6]), "squared must hold 6"),
    ],
)
def test_bad_input_of_the_model(call, named):
    with pytest.raises(ValueError, match=named):
        call()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"teacher": V}, "teacher must be a Teacher"),
        ({"step_size": 0}, "step_size must be positive"),
        ({"steps": -1}, "steps must be at least 0"),
        ({"steps": 2.5}, "steps must be a whole number"),
        ({"rng": 3}, "rng must be"),
        ({"batch": 0}, "batch must be at least 1"),
        ({"noise": -1}, "noise must not be negative"),
        ({"sample": 3}, "sample must be a function"),
        ({"sample": lambda rng, batch: np.zeros((batch, d))}, "sample must have shape"),
        ({"value": V[1:]}, "value must have shape"),
        ({"key_query": V}, "key_query must have shape"),
        ({"positions": np.ones((D, D))}, "positions must be orthogonal"),
        ({"record": [3, 1]}, "record must be rising"),
        ({"record": [9]}, "record must be rising"),
        ({"step_size": 100.0, "steps": 200}, "step_size must be smaller"),
    ],
)
def test_bad_input_of_a_run(change, named):
    rng = np.random.default_rng(0)
    arguments = {"teacher": conv(rng), "step_size": 0.1, "steps": 3, "rng": rng} | change
    with pytest.raises(ValueError, match=named):
        full.descend_online(**arguments)
