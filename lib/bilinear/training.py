"""Plain gradient descent: on the exact population loss, and on fresh samples as in the paper."""

from dataclasses import dataclass

import numpy as np

from . import _checks
from .model import Student, Teacher, _softmax, times
from .moments import angle_between
from .population import _check_pair, excess_of_blocks, gradient_of_blocks


@dataclass(frozen=True)
class History:
    """What was recorded along a run; arrays of one length, one entry a recorded step.

    steps : number of steps taken before the record
    excess_loss : exact population excess for Gaussian inputs, squared units of the labels
    score_error : ||S - S*||_F
    value_error : ||W_V - V*||_F
    cosine : cos(W_V, V*) as vectors of M d entries; 0 while W_V = 0
    student : the student after the last step
    batch_loss : 1/2 mean ||Y - TF(X)||_F^2 of the batch that the next step uses (online runs only, else None)
    """

    steps: np.ndarray
    excess_loss: np.ndarray
    score_error: np.ndarray
    value_error: np.ndarray
    cosine: np.ndarray
    student: Student
    batch_loss: np.ndarray | None = None


def log_spaced(steps, count=200):
    """0 and whole numbers up to `steps`, evenly spaced in their logarithm: the default steps of a record.

    Parameters
    ----------
    steps : int, at least 0
    count : int
        How many at the most.

    Returns
    -------
    array of rising int, first 0, last `steps`

    Source: none needed.
    """
    steps, count = _checks.whole("steps", steps, least=0), _checks.whole("count", count)
    return np.unique(np.concatenate([[0, steps], np.geomspace(1, max(steps, 1), count).round().astype(int)]))[
        : steps + 1
    ]


def recorded_steps(steps, record=None):
    """The steps at which a run is recorded.

    Parameters
    ----------
    steps : int, at least 0
        Steps of the run.
    record : rising whole numbers or None
        The steps to record; None records about 200, evenly spaced in their logarithm.

    Returns
    -------
    array of rising int

    Raises
    ------
    ValueError
        If `record` is anything else.

    Source: none needed.
    """
    if record is None:
        return log_spaced(steps)
    record = _checks.real_array("record", record, ndim=1)
    if (record != record.round()).any() or (np.diff(record) <= 0).any() or record[0] < 0 or record[-1] > steps:
        raise ValueError(f"record must be rising whole numbers from 0 to {steps}, was {record.tolist()!s:.80}")
    return record.astype(int)


def _run(teacher, step_size, steps, student, positions, record, progress, advance):
    """Call advance(value, logits, moving) -> batch loss or None, which steps both blocks in place if moving; record."""
    steps = _checks.whole("steps", steps, least=0)
    record = recorded_steps(steps, record)
    if student is None:
        student = Student.initial(teacher, positions)
    elif positions is not None:
        raise ValueError("positions must be left out where a student is given: it has its own")
    _check_pair(teacher, student)
    value, logits = student.value.copy(), student.logits
    length = np.linalg.norm(teacher.value)
    rows, wanted = [], set(record.tolist())

    counter = range(steps + 1)
    if progress:
        from tqdm.auto import tqdm

        counter = tqdm(counter, unit="step")
    for step in counter:
        recording = step in wanted
        if recording:
            size = np.linalg.norm(value)
            cosine = np.cos(angle_between(value.ravel(), teacher.value.ravel())) if size * length > 0 else 0.0
            row = [
                excess_of_blocks(teacher, value, logits),
                np.linalg.norm(_softmax(logits) - teacher.scores),
                np.linalg.norm(value - teacher.value),
                float(cosine),
            ]
        if step < steps or recording:
            batch_loss = advance(value, logits, step < steps)
            if not np.vdot(value, value) < 1e200:
                raise ValueError(f"step_size must be smaller, with {step_size:g} the run diverged at step {step}")
        if recording:
            rows.append([*row, batch_loss])
    columns = list(zip(*rows, strict=True))
    arrays = [np.array(column, dtype=float) for column in columns[:4]]
    losses = None if columns[4][0] is None else np.array(columns[4])
    last = Student.from_logits(value, logits, student.positions, teacher.slope)
    return History(record, *arrays, last, losses)


def descend(
    teacher,
    step_size,
    steps,
    student=None,
    positions=None,
    logit_scale=1.0,
    record=None,
    progress=False,
):
    """Gradient descent on the exact population loss.

    The positional encoding is orthogonal, so a step of W_KQ moves the logits by step_size/D times -dL/dA whatever it
    is: the run is done in the logits and costs no product of D x D matrices.

    Parameters
    ----------
    teacher : Teacher
    step_size : float > 0
        eta, for both blocks.
    steps : int, at least 0
    student : Student or None
        Where to start; None is the zero student.
    positions : array (D, D) or None
        The positional encoding of the zero student.
    logit_scale : float > 0
        Multiplies the step of W_KQ; 1 is plain gradient descent.
    record : rising whole numbers or None
        The steps to record; None records about 200, evenly spaced in their logarithm.
    progress : bool
        Show a tqdm progress bar.

    Returns
    -------
    History

    Raises
    ------
    ValueError
        If an argument is out of its range, the student does not fit the teacher, or the run diverges.

    Source: the paper's training algorithm, on its population loss.
    """
    _checks.instance("teacher", teacher, Teacher)
    step_size = _checks.positive_number("step_size", step_size)
    logit_step = step_size * _checks.positive_number("logit_scale", logit_scale) / teacher.D
    change = np.empty((teacher.D, teacher.D))

    def advance(value, logits, moving):
        if moving:
            d_value, _ = gradient_of_blocks(teacher, value, logits, logit_step, out=change)
            value -= step_size * d_value
            logits -= change

    return _run(teacher, step_size, steps, student, positions, record, progress, advance)


def batch_gradient(inputs, labels, value, scores, slope):
    """Loss and gradients of one batch: 1/2 mean ||Y - sigma(W_V X S)||_F^2 with sigma'(0) = 1.

    Parameters
    ----------
    inputs : array (N, d, D)
    labels : array (N, M, D)
    value : array (M, d)
    scores : array (D, D)
    slope : float in [0, 1]

    Returns
    -------
    loss : float
    d_value : array (M, d)
    d_scores : array (D, D)

    Raises
    ------
    ValueError
        If an array is not finite or a shape does not fit.

    Source: the paper's gradients, with the expectation over the batch.
    """
    inputs, value = _checks.real_array("inputs", inputs, ndim=3), _checks.real_array("value", value, ndim=2)
    (count, d, D), M = inputs.shape, len(value)
    value, scores = _checks.shaped("value", value, (M, d)), _checks.shaped("scores", scores, (D, D))
    labels = _checks.shaped("labels", labels, (count, M, D))
    return _batch_gradient(inputs, labels, value, scores, _checks.one_slope(slope))


def _batch_gradient(inputs, labels, value, scores, slope):
    """`batch_gradient` without its checks, and with sigma and sigma' written out: half of a small step's time."""
    count, D = len(inputs), len(scores)
    projected = value @ inputs
    hidden = times(projected, scores)
    residual = labels - np.maximum(hidden, slope * hidden)
    loss = float(np.vdot(residual, residual) / (2 * count))
    np.multiply(residual, slope, out=residual, where=hidden < 0)  # sigma'(0) = 1
    residual /= -count
    d_scores = projected.reshape(-1, D).T @ residual.reshape(-1, D)
    d_value = np.tensordot(times(residual, scores.T), inputs, axes=([0, 2], [0, 2]))
    return loss, d_value, d_scores


def descend_online(
    teacher,
    step_size,
    steps,
    rng,
    batch=100,
    noise=0.0,
    sample=None,
    student=None,
    positions=None,
    logit_scale=1.0,
    record=None,
    progress=False,
):
    """Gradient descent with fresh samples each step, as in the paper's experiments.

    Parameters
    ----------
    teacher, step_size, steps, student, positions, logit_scale, record, progress
        As for `descend`.
    rng : numpy.random.Generator
    batch : int
        N, samples a step.
    noise : float, at least 0
        Standard deviation of the independent Gaussian label noise.
    sample : callable (rng, batch) -> array (batch, d, D), or None
        Draws the inputs; None draws i.i.d. standard Gaussian ones. The recorded excess_loss is the exact one for
        Gaussian inputs in either case; batch_loss belongs to the inputs that were drawn.

    Returns
    -------
    History, with batch_loss

    Raises
    ------
    ValueError
        If an argument is out of its range, the student does not fit the teacher, or the run diverges.

    Source: the paper's experiments (online gradient descent, N = 100).
    """
    _checks.instance("teacher", teacher, Teacher)
    step_size = _checks.positive_number("step_size", step_size)
    logit_step = step_size * _checks.positive_number("logit_scale", logit_scale) / teacher.D
    rng, batch, noise = _checks.generator(rng), _checks.whole("batch", batch), _checks.number("noise", noise)
    if noise < 0:
        raise ValueError(f"noise must not be negative, was {noise:g}")
    if sample is not None and not callable(sample):
        raise ValueError(f"sample must be a function (rng, batch) -> array (batch, d, D), was {sample!r:.80}")
    shape = (batch, teacher.d, teacher.D)

    def advance(value, logits, moving):
        inputs = rng.standard_normal(shape) if sample is None else _checks.shaped("sample", sample(rng, batch), shape)
        labels = teacher(inputs)
        if noise:
            labels += noise * rng.standard_normal(labels.shape)
        scores = _softmax(logits)
        loss, d_value, d_scores = _batch_gradient(inputs, labels, value, scores, teacher.slope)
        if moving:
            value -= step_size * d_value
            d_scores -= np.einsum("ji,ji->i", d_scores, scores)
            d_scores *= scores
            d_scores *= logit_step
            logits -= d_scores
        return loss

    return _run(teacher, step_size, steps, student, positions, record, progress, advance)
