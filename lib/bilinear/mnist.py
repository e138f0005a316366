"""MNIST: the images, their patches, the network whose first layer is a teacher, and the student of its outputs."""

import gzip
from pathlib import Path
from typing import NamedTuple

import numpy as np

from . import _checks
from .activations import leaky_relu, leaky_relu_derivative
from .model import Student, softmax
from .teachers import convolution_with_pooling
from .training import recorded_steps

SUBSET = Path(__file__).resolve().parents[2] / "book" / "data" / "mnist_subset.npz"
CLASSES = 10
_FILES = {
    "train_images": "train-images-idx3-ubyte",
    "train_labels": "train-labels-idx1-ubyte",
    "test_images": "t10k-images-idx3-ubyte",
    "test_labels": "t10k-labels-idx1-ubyte",
}


class Images(NamedTuple):
    """Training and test images, uint8 arrays (N, 28, 28) with grey values 0 to 255, and labels, uint8 arrays (N,)."""

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray


def read_idx(path):
    """Read one IDX file of unsigned bytes, gzipped (name ends in .gz) or not.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    uint8 array of the shape that the file's header names

    Raises
    ------
    ValueError
        If the header is not that of an IDX file of unsigned bytes, or the file is longer or shorter than it says.

    Source: the format that the MNIST files are published in.
    """
    path = Path(path)
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
        content = file.read()
    if len(content) < 4 or content[:3] != b"\x00\x00\x08":
        raise ValueError(f"{path.name} must be an IDX file of unsigned bytes, began with {content[:4]!r}")
    dimensions = content[3]
    shape = tuple(
        int(n) for n in np.frombuffer(content, ">u4", count=min(dimensions, (len(content) - 4) // 4), offset=4)
    )
    header = 4 + 4 * dimensions
    if len(shape) != dimensions or len(content) - header != np.prod(shape, dtype=int):
        raise ValueError(f"{path.name} must hold {shape} bytes after its header, held {len(content) - header}")
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)


def load_mnist(folder=None):
    """The subset that comes with the book, or all of MNIST from a folder.

    Parameters
    ----------
    folder : str, Path or None
        None reads the subset (10,000 training and 2,000 test images, bytes unchanged, see book/data/README.md).
        A folder is read for the four IDX files under their usual names, each gzipped or not.

    Returns
    -------
    Images

    Raises
    ------
    ValueError
        If a file in the folder is not what its name says, or images and labels differ in number.
    FileNotFoundError
        If a file is missing; the message names it.

    Source: LeCun, Bottou, Bengio and Haffner (1998).
    """
    if folder is None:
        if not SUBSET.is_file():
            raise FileNotFoundError(
                f"{SUBSET} is not there. The subset comes with the book's repository, installed with pip install -e . "
                "Give load_mnist a folder that holds the IDX files instead."
            )
        with np.load(SUBSET) as archive:
            images = Images(**{name: archive[name] for name in Images._fields})
    else:
        images = Images(**{name: read_idx(_find(Path(folder), file)) for name, file in _FILES.items()})
    for part in ("train", "test"):
        pictures, labels = getattr(images, f"{part}_images"), getattr(images, f"{part}_labels")
        if pictures.ndim != 3 or labels.shape != pictures.shape[:1]:
            raise ValueError(
                f"the {part} images must be (N, height, width) and their labels (N,), "
                f"had {pictures.shape} and {labels.shape}"
            )
    return images


def _find(folder, name):
    for candidate in (folder / name, folder / f"{name}.gz"):
        if candidate.is_file():
            return candidate
    raise FileNotFoundError(f"{folder} holds neither {name} nor {name}.gz")


def resize(images, size=27):
    """Shrink or enlarge square images by area averaging.

    The picture is cut anew into size x size equal cells. A new pixel is the mean of the old ones under its cell,
    each weighed by the part of the cell that it covers. The mean grey value of an image stays what it was.

    Parameters
    ----------
    images : array (..., n, n)
    size : int

    Returns
    -------
    float array (..., size, size)

    Raises
    ------
    ValueError
        If the images are not square or `size` is not a whole number >= 1.

    Source: here; the paper says 27 x 27 and not by which method.
    """
    size = _checks.whole("size", size)
    images = _checks.real_array("images", images)
    if images.ndim < 2 or images.shape[-1] != images.shape[-2]:
        raise ValueError(f"images must have shape (..., n, n), had {images.shape}")
    n = images.shape[-1]
    left, right = np.arange(size) * n / size, np.arange(1, size + 1) * n / size
    cover = np.minimum(right[:, None], np.arange(1, n + 1)) - np.maximum(left[:, None], np.arange(n))
    weights = np.maximum(cover, 0) * size / n
    return weights @ images @ weights.T


def patches(images, size=3):
    """Cut images into patches that do not overlap: the X of the book.

    Parameters
    ----------
    images : array (..., n, n)
        n is a multiple of `size`.
    size : int
        Side of a patch in pixels.

    Returns
    -------
    float array (..., d, D) with d = size^2 pixels of a patch, row by row, and D = (n/size)^2 patches, row by row

    Raises
    ------
    ValueError
        If the images are not square or `size` does not divide n.

    Source: the paper's section on MNIST: n = 27, size = 3, so d = 9 and D = 81.
    """
    size = _checks.whole("size", size)
    images = _checks.real_array("images", images)
    if images.ndim < 2 or images.shape[-1] != images.shape[-2] or images.shape[-1] % size:
        raise ValueError(f"images must have shape (..., n, n) with n a multiple of {size}, had {images.shape}")
    side = images.shape[-1] // size
    cut = images.reshape(*images.shape[:-2], side, size, side, size)
    cut = np.moveaxis(cut, (-3, -1), (-4, -3))  # (..., row in patch, column in patch, patch row, patch column)
    return np.ascontiguousarray(cut).reshape(*images.shape[:-2], size * size, side * side)


def images_of(inputs):
    """Put patches back together: the inverse of `patches`.

    Parameters
    ----------
    inputs : array (..., d, D) with d and D squares

    Returns
    -------
    float array (..., n, n) with n = sqrt(d D)

    Raises
    ------
    ValueError
        If d or D is not a square.

    Source: here.
    """
    inputs = _checks.real_array("inputs", inputs)
    size, side = (round(np.sqrt(n)) for n in inputs.shape[-2:])
    if (size * size, side * side) != inputs.shape[-2:]:
        raise ValueError(f"inputs must have shape (..., d, D) with d and D squares, had {inputs.shape}")
    cut = inputs.reshape(*inputs.shape[:-2], size, size, side, side)
    cut = np.moveaxis(cut, (-4, -3), (-3, -1))
    return np.ascontiguousarray(cut).reshape(*inputs.shape[:-2], size * side, size * side)


def pooling_groups(side=9, pool=3):
    """The groups of patches that are averaged: squares of pool x pool neighbours on a grid of side x side patches.

    Parameters
    ----------
    side, pool : int
        `pool` divides `side`.

    Returns
    -------
    int array (G, K): row g holds the K = pool^2 positions of group g; the G = (side/pool)^2 groups partition [D]

    Raises
    ------
    ValueError
        If `pool` does not divide `side`.

    Source: the paper's section on MNIST: side = 9, pool = 3, so K = 9.
    """
    side, pool = _checks.whole("side", side), _checks.whole("pool", pool)
    if side % pool:
        raise ValueError(f"pool must divide side, were {pool} and {side}")
    grid = np.arange(side * side).reshape(side // pool, pool, side // pool, pool)
    return grid.transpose(0, 2, 1, 3).reshape(-1, pool * pool)


class CNN(NamedTuple):
    """Convolution, average pooling, activation, linear layer.

    kernels (M, d): one flattened kernel a row, moved over patches that do not overlap.
    weight (classes, M G): the linear layer on the M G hidden values, `bias` (classes,).
    groups (G, K): the patches that are averaged. slope: kappa of the activation.
    """

    kernels: np.ndarray
    weight: np.ndarray
    bias: np.ndarray
    groups: np.ndarray
    slope: float

    def pooled(self, inputs):
        """Means of the patches over each group: array (N, d, D) to array (N, d, G)."""
        return np.asarray(inputs)[..., self.groups].mean(axis=-1)

    def logits(self, inputs):
        """Scores of the classes: array (N, d, D) to array (N, classes).

        Pooling and convolution are linear and act on different axes, so pooling comes first: it is K times cheaper.
        """
        return self._from_pooled(self.pooled(inputs))[2]

    def _from_pooled(self, pooled):
        before = self.kernels @ pooled
        hidden = leaky_relu(before, self.slope).reshape(len(pooled), -1)
        return before, hidden, hidden @ self.weight.T + self.bias

    def accuracy(self, inputs, labels):
        """Share of the inputs (N, d, D) whose highest score is at their label (N,)."""
        return float(np.mean(self.logits(inputs).argmax(axis=1) == labels))

    def teacher(self):
        """The first layer with its pooling and activation, as a Teacher with S* = 1/K inside each group."""
        return convolution_with_pooling(self.kernels, self.groups, slope=self.slope)


def cross_entropy(network, pooled, labels):
    """Mean softmax cross-entropy and its gradient.

    Parameters
    ----------
    network : CNN
    pooled : array (N, d, G)
        `network.pooled(inputs)`.
    labels : int array (N,)

    Returns
    -------
    loss : float, in nats
    gradient : tuple of arrays, of the shapes of `network.kernels`, `network.weight`, `network.bias`

    Source: here, by hand; the tests compare it with finite differences.
    """
    before, hidden, logits = network._from_pooled(pooled)
    N = len(labels)
    logits = logits - logits.max(axis=1, keepdims=True)
    log_sum = np.log(np.exp(logits).sum(axis=1, keepdims=True))
    loss = float(np.mean(log_sum[:, 0] - logits[np.arange(N), labels]))
    error = np.exp(logits - log_sum)
    error[np.arange(N), labels] -= 1
    error /= N
    back = (error @ network.weight).reshape(before.shape) * leaky_relu_derivative(before, network.slope)
    return loss, (np.tensordot(back, pooled, axes=((0, 2), (0, 2))), error.T @ hidden, error.sum(axis=0))


def train_cnn(inputs, labels, slope, rng, kernels=16, epochs=20, step_size=0.1, batch=64, groups=None):
    """Train a CNN by stochastic gradient descent on the cross-entropy: constant step size, no momentum, no decay.

    Kernels start at N(0, 1/d), the linear layer at N(0, 1/(M G)), the bias at 0. Each epoch goes once through the
    data in a new order; a last batch that is not full is used as it is.

    Parameters
    ----------
    inputs : array (N, d, D)
    labels : int array (N,), classes 0 to 9
    slope : float in [0, 1]
    rng : numpy.random.Generator
    kernels, epochs, batch : int
    step_size : float > 0
    groups : int array (G, K) or None
        None takes `pooling_groups()`.

    Returns
    -------
    network : CNN
    losses : array (epochs,)
        Mean cross-entropy over each epoch, in nats, each batch measured before its step.

    Raises
    ------
    ValueError
        If a shape does not fit, a label is no class, or a number is out of its range.

    Source: the paper's section on MNIST for M = 16, K = 9 and 20 epochs; batch, step size and start are ours.
    """
    inputs = _checks.real_array("inputs", inputs, ndim=3)
    labels = np.asarray(labels)
    if labels.shape != inputs.shape[:1] or labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= CLASSES:
        raise ValueError(f"labels must be {len(inputs)} whole numbers from 0 to 9, had shape {labels.shape}")
    slope, step_size, rng = (
        _checks.one_slope(slope),
        _checks.positive_number("step_size", step_size),
        _checks.generator(rng),
    )
    kernels, epochs, batch = (
        _checks.whole(name, value) for name, value in (("kernels", kernels), ("epochs", epochs), ("batch", batch))
    )
    groups = pooling_groups() if groups is None else np.asarray(groups)
    d, hidden = inputs.shape[1], kernels * len(groups)
    network = CNN(
        rng.normal(size=(kernels, d)) / np.sqrt(d),
        rng.normal(size=(CLASSES, hidden)) / np.sqrt(hidden),
        np.zeros(CLASSES),
        groups,
        slope,
    )
    pooled = network.pooled(inputs)  # once: it does not depend on the weights
    losses = []
    for _ in range(epochs):
        order = rng.permutation(len(pooled))
        total = 0.0
        for start in range(0, len(order), batch):
            chosen = order[start : start + batch]
            loss, gradient = cross_entropy(network, pooled[chosen], labels[chosen])
            total += loss * len(chosen)
            for weights, slope_of_loss in zip(network[:3], gradient, strict=True):
                weights -= step_size * slope_of_loss
        losses.append(total / len(order))
    return network, np.array(losses)


class Distillation(NamedTuple):
    """What was recorded while a student learned a teacher's outputs on a set of inputs; one entry a recorded step.

    steps: steps taken before the record. loss: 1/2 mean ||f*(X) - TF(X)||_F^2 over the held-out inputs.
    value_cosine, score_cosine: cos(W_V, V*) (0 while W_V = 0) and cos(S, S*), matrices taken as vectors.
    student: the student after the last step.
    """

    steps: np.ndarray
    loss: np.ndarray
    value_cosine: np.ndarray
    score_cosine: np.ndarray
    student: Student


def _cosine(one, other):
    lengths = np.linalg.norm(one) * np.linalg.norm(other)
    return float(np.vdot(one, other) / lengths) if lengths > 0 else 0.0


@np.errstate(over="ignore", invalid="ignore")  # a run that diverges says so itself
def distil(teacher, inputs, held_out, step_size, steps, rng, batch=64, logit_scale=1.0, record=None):
    """Train a student on the teacher's outputs for a given set of inputs, by stochastic gradient descent.

    Each step draws `batch` inputs with replacement. The trajectory is that of `training.descend_online` with
    ``sample = lambda rng, batch: inputs[rng.integers(len(inputs), size=batch)]``, to rounding. The inputs are a finite
    set here, so the labels are computed once, which makes a step several times as fast.

    Parameters
    ----------
    teacher : Teacher
    inputs : array (N, d, D)
    held_out : array (N', d, D)
        Where the loss is measured.
    step_size : float > 0
        eta, for both blocks.
    steps : int, at least 0
    rng : numpy.random.Generator
    batch : int
    logit_scale : float > 0
        Multiplies the step of W_KQ; 1 is plain gradient descent.
    record : rising whole numbers or None
        The steps to record; None records about 200, evenly spaced in their logarithm.

    Returns
    -------
    Distillation

    Raises
    ------
    ValueError
        If an argument is out of its range, the inputs do not fit the teacher or the run diverges.

    Source: the paper's section on MNIST; batch, step sizes and number of steps are ours.
    """
    inputs = _checks.real_array("inputs", inputs, ndim=3)
    held_out = _checks.real_array("held_out", held_out, ndim=3)
    for name, array in (("inputs", inputs), ("held_out", held_out)):
        if array.shape[1:] != (teacher.d, teacher.D):
            raise ValueError(f"{name} must have shape (N, {teacher.d}, {teacher.D}), had {array.shape}")
    step_size = _checks.positive_number("step_size", step_size)
    logit_scale = _checks.positive_number("logit_scale", logit_scale)
    rng, batch, steps = _checks.generator(rng), _checks.whole("batch", batch), _checks.whole("steps", steps, least=0)
    record = recorded_steps(steps, record)

    # Features first: then a product with W_V is one matrix product for the whole batch. Columns of S* that are equal
    # give equal outputs, which are kept once.
    d, D, M, slope = teacher.d, teacher.D, teacher.M, teacher.slope
    columns, which = np.unique(teacher.scores, axis=1, return_inverse=True)
    which = which.ravel()
    inputs, held_out = (np.ascontiguousarray(np.moveaxis(array, 1, 0)) for array in (inputs, held_out))

    def outputs(value, features, scores):
        hidden = value @ (features.reshape(-1, D) @ scores).reshape(d, -1)
        return np.maximum(hidden, slope * hidden)

    labels = outputs(teacher.value, inputs, columns).reshape(M, -1, columns.shape[1])
    held_out_labels = outputs(teacher.value, held_out, columns).reshape(M, -1, columns.shape[1])[:, :, which]
    held_out_labels = held_out_labels.reshape(M, -1)
    value, logits = np.zeros_like(teacher.value), np.zeros_like(teacher.scores)
    rows, wanted = [], set(record.tolist())
    # Arrays of a batch are allocated once: to allocate them at each step costs as much as the arithmetic.
    features, mixed = np.empty((d, batch, D)), np.empty((d, batch * D))
    hidden, residual, target = np.empty((M, batch * D)), np.empty((M, batch * D)), np.empty((M * batch, D))
    for step in range(steps + 1):
        scores = softmax(logits)
        if step in wanted:
            error = outputs(value, held_out, scores) - held_out_labels
            loss = np.vdot(error, error) / (2 * held_out.shape[1])
            rows.append((loss, _cosine(value, teacher.value), _cosine(scores, teacher.scores)))
        if step == steps:
            break
        chosen = rng.integers(inputs.shape[1], size=batch)
        np.take(inputs, chosen, axis=1, out=features, mode="clip")
        np.dot(features.reshape(-1, D), scores, out=mixed.reshape(-1, D))
        np.dot(value, mixed, out=hidden)
        np.multiply(hidden, slope, out=residual)
        np.maximum(hidden, residual, out=residual)
        np.take(labels[:, chosen].reshape(-1, columns.shape[1]), which, axis=1, out=target, mode="clip")
        residual -= target.reshape(M, -1)
        np.multiply(hidden >= 0, (1 - slope) / batch, out=hidden)
        hidden += slope / batch  # sigma'(hidden) / batch with sigma'(0) = 1
        residual *= hidden
        d_value = residual @ mixed.T
        np.dot(value.T, residual, out=mixed)
        d_scores = features.reshape(-1, D).T @ mixed.reshape(-1, D)
        d_scores -= np.einsum("ji,ji->i", d_scores, scores)
        value -= step_size * d_value
        logits -= (step_size * logit_scale / D) * (d_scores * scores)
        if not (np.isfinite(value).all() and np.isfinite(logits).all()):
            raise ValueError(f"step_size must be smaller, with {step_size:g} the run diverged at step {step + 1}")
    loss, value_cosine, score_cosine = np.array(rows).T
    return Distillation(record, loss, value_cosine, score_cosine, Student.from_logits(value, logits, slope=slope))
