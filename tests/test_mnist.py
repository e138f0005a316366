"""MNIST: the data file, the patches, the network's gradient, and the teacher in its first layer."""

import gzip

import numpy as np
import pytest
from bilinear import mnist, training
from bilinear.teachers import convolution_with_pooling


@pytest.fixture(scope="module")
def data():
    return mnist.load_mnist()


@pytest.fixture(scope="module")
def train_patches(data):
    pixels = mnist.resize(data.train_images[:2000] / 255)
    return mnist.patches((pixels - pixels.mean()) / pixels.std())


def write_idx(path, array, compress=False):
    content = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes() + array.tobytes()
    if compress:
        with gzip.open(f"{path}.gz", "wb") as file:
            file.write(content)
    else:
        path.write_bytes(content)


def write_folder(folder, compress=False, labels=12):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, size=(12, 28, 28), dtype=np.uint8)
    for name, array in (
        ("train-images-idx3-ubyte", images),
        ("train-labels-idx1-ubyte", np.arange(labels, dtype=np.uint8)),
        ("t10k-images-idx3-ubyte", images[:5]),
        ("t10k-labels-idx1-ubyte", np.arange(5, dtype=np.uint8)),
    ):
        write_idx(folder / name, array, compress)
    return images


def ordinary_hidden_layer(kernels, image, slope):
    """Slide each 3 x 3 kernel over the image with stride 3, average over 3 x 3 results, then apply the activation."""
    M = len(kernels)
    convolved = np.empty((M, 9, 9))
    for m in range(M):
        for row in range(9):
            for column in range(9):
                window = image[3 * row : 3 * row + 3, 3 * column : 3 * column + 3]
                convolved[m, row, column] = np.sum(kernels[m].reshape(3, 3) * window)
    pooled = np.empty((M, 3, 3))
    for row in range(3):
        for column in range(3):
            pooled[:, row, column] = convolved[:, 3 * row : 3 * row + 3, 3 * column : 3 * column + 3].mean(axis=(1, 2))
    return np.where(pooled > 0, pooled, slope * pooled)


# --- the data ---------------------------------------------------------------------------------------------------------


def test_subset_is_what_its_readme_says(data):
    assert data.train_images.shape == (10_000, 28, 28)
    assert data.test_images.shape == (2_000, 28, 28)
    assert data.train_images.dtype == data.train_labels.dtype == np.uint8
    assert data.train_labels.shape == (10_000,)
    assert data.test_labels.shape == (2_000,)
    assert np.array_equal(np.unique(data.train_labels), np.arange(10))
    assert mnist.SUBSET.stat().st_size <= 3_000_000
    readme = (mnist.SUBSET.parent / "README.md").read_text(encoding="utf-8")
    assert f"{mnist.SUBSET.stat().st_size / 1e6:.2f} MB" in readme


def test_subset_holds_digits_not_noise(data):
    # The published mean and deviation of all of MNIST's training pixels, 0.1307 and 0.3081. A subset that keeps one of
    # the two sources that alternate in the training file has a mean of 0.123 or 0.139.
    pixels = data.train_images / 255
    assert pixels.mean() == pytest.approx(0.1307, abs=0.002)
    assert pixels.std() == pytest.approx(0.3081, abs=0.002)
    ones, zeros = (data.train_images[data.train_labels == label].mean(axis=0) for label in (1, 0))
    assert ones[14, 14] > 150 > 50 > zeros[14, 14]


@pytest.mark.parametrize("compress", [False, True])
def test_full_files_from_a_folder(tmp_path, compress):
    images = write_folder(tmp_path, compress)
    read = mnist.load_mnist(tmp_path)
    assert np.array_equal(read.train_images, images)
    assert np.array_equal(read.test_images, images[:5])
    assert np.array_equal(read.train_labels, np.arange(12))


def test_a_missing_file_is_named(tmp_path):
    write_folder(tmp_path)
    (tmp_path / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(FileNotFoundError, match="t10k-labels-idx1-ubyte"):
        mnist.load_mnist(tmp_path)


def test_a_missing_subset_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(mnist, "SUBSET", tmp_path / "none.npz")
    with pytest.raises(FileNotFoundError, match="folder"):
        mnist.load_mnist()


@pytest.mark.parametrize(
    "content",
    [b"", b"\x00\x00", b"\x89PNG and more", b"\x00\x00\x0d\x01\x00\x00\x00\x01\x00", b"\x00\x00\x08\x03\x00\x00"],
)
def test_a_file_that_is_no_idx_file(tmp_path, content):
    path = tmp_path / "train-images-idx3-ubyte"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="train-images-idx3-ubyte"):
        mnist.read_idx(path)


@pytest.mark.parametrize("change", [-1, 1])
def test_a_file_of_the_wrong_length(tmp_path, change):
    path = tmp_path / "labels"
    write_idx(path, np.arange(8, dtype=np.uint8))
    content = path.read_bytes()
    path.write_bytes(content[:-1] if change < 0 else content + b"\x00")
    with pytest.raises(ValueError, match="must hold"):
        mnist.read_idx(path)


def test_images_and_labels_that_differ_in_number(tmp_path):
    write_folder(tmp_path, labels=11)
    with pytest.raises(ValueError, match="train images"):
        mnist.load_mnist(tmp_path)


# --- resizing and patches ---------------------------------------------------------------------------------------------


def test_resize_is_the_area_average():
    # On a grid fine enough for both sizes (each old pixel 27 fine cells, each new one 28) the average is a plain mean.
    image = np.random.default_rng(1).normal(size=(28, 28))
    fine = np.kron(image, np.ones((27, 27)))
    expected = fine.reshape(27, 28, 27, 28).mean(axis=(1, 3))
    assert np.allclose(mnist.resize(image), expected, rtol=0, atol=1e-13)


def test_resize_keeps_means_and_constants():
    images = np.random.default_rng(2).random((4, 28, 28))
    assert np.allclose(mnist.resize(images).mean(axis=(1, 2)), images.mean(axis=(1, 2)))
    assert np.allclose(mnist.resize(np.full((28, 28), 0.3)), 0.3)
    assert np.allclose(mnist.resize(images, 28), images)


def test_patches_are_row_by_row():
    image = np.arange(27 * 27).reshape(27, 27)
    inputs = mnist.patches(image)
    assert inputs.shape == (9, 81)
    for position in (0, 1, 9, 40, 80):
        row, column = divmod(position, 9)
        window = image[3 * row : 3 * row + 3, 3 * column : 3 * column + 3]
        assert np.array_equal(inputs[:, position], window.ravel())
    batch = np.stack([image, image + 1])
    assert np.array_equal(mnist.patches(batch)[1], mnist.patches(image + 1))
    assert np.array_equal(mnist.images_of(mnist.patches(batch)), batch)


def test_pooling_groups_are_squares_that_partition():
    groups = mnist.pooling_groups()
    assert np.array_equal(np.sort(groups.ravel()), np.arange(81))
    assert np.array_equal(groups[0], [0, 1, 2, 9, 10, 11, 18, 19, 20])
    rows, columns = divmod(groups, 9)
    assert np.all(np.ptp(rows, axis=1) == 2)
    assert np.all(np.ptp(columns, axis=1) == 2)


# --- the network ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("slope", [0.0, 0.1, 1.0])
def test_the_first_layer_is_the_ordinary_convolution_and_a_teacher(data, slope):
    rng = np.random.default_rng(3)
    images = mnist.resize(data.test_images[:3] / 255)
    network, _ = mnist.train_cnn(
        rng.normal(size=(5, 9, 81)), np.arange(5), slope, rng, kernels=4, epochs=1, batch=2, step_size=0.01
    )
    teacher = network.teacher()
    assert (teacher.M, teacher.d, teacher.D, teacher.K, teacher.slope) == (4, 9, 81, 9, slope)
    outputs = teacher(mnist.patches(images))
    for image, output, inputs in zip(images, outputs, mnist.patches(images), strict=True):
        expected = ordinary_hidden_layer(network.kernels, image, slope)
        assert np.allclose(output.reshape(4, 9, 9), expected.repeat(3, axis=1).repeat(3, axis=2), atol=1e-13)
        logits = network.weight @ expected.ravel() + network.bias
        assert np.allclose(network.logits(inputs[None])[0], logits, atol=1e-13)


@pytest.mark.parametrize("slope", [0.0, 0.1, 1.0])
def test_gradient_against_finite_differences(slope):
    rng = np.random.default_rng(4)
    groups = mnist.pooling_groups(side=4, pool=2)
    network = mnist.CNN(rng.normal(size=(3, 5)), rng.normal(size=(10, 12)), rng.normal(size=10), groups, slope)
    pooled, labels = network.pooled(rng.normal(size=(7, 5, 16))), rng.integers(10, size=7)
    _, gradient = mnist.cross_entropy(network, pooled, labels)
    for block, exact in enumerate(gradient):
        numeric = np.empty_like(exact)
        for place in np.ndindex(exact.shape):
            value = network[block][place]
            losses = []
            for shift in (1e-6, -1e-6):
                network[block][place] = value + shift
                losses.append(mnist.cross_entropy(network, pooled, labels)[0])
            network[block][place] = value
            numeric[place] = (losses[0] - losses[1]) / 2e-6
        assert np.allclose(exact, numeric, rtol=1e-6, atol=1e-8)


def test_cross_entropy_of_large_and_of_equal_logits():
    groups = mnist.pooling_groups(side=2, pool=2)
    network = mnist.CNN(np.zeros((1, 2)), np.zeros((10, 1)), np.zeros(10), groups, 0.0)
    pooled = np.zeros((3, 2, 1))
    loss, _ = mnist.cross_entropy(network, pooled, np.array([0, 4, 9]))
    assert loss == pytest.approx(np.log(10))
    network.bias[4] = 5000.0
    loss, gradient = mnist.cross_entropy(network, pooled, np.array([4, 4, 4]))
    assert loss == 0
    assert all(np.isfinite(block).all() for block in gradient)


def test_training_learns_digits(data, train_patches):
    network, losses = mnist.train_cnn(train_patches, data.train_labels[:2000], 0.0, np.random.default_rng(0), epochs=10)
    assert losses.shape == (10,)
    assert losses[0] > 1.2 * losses[-1]
    assert network.accuracy(train_patches, data.train_labels[:2000]) > 0.6
    shuffled = np.random.default_rng(1).permutation(data.train_labels[:2000])
    assert network.accuracy(train_patches, shuffled) < 0.2


def test_training_repeats_from_its_seed(data, train_patches):
    runs = [
        mnist.train_cnn(train_patches[:200], data.train_labels[:200], 0.1, np.random.default_rng(7), epochs=2)
        for _ in range(2)
    ]
    assert np.array_equal(runs[0][0].kernels, runs[1][0].kernels)
    assert np.array_equal(runs[0][1], runs[1][1])


# --- the student ------------------------------------------------------------------------------------------------------


def small_teacher(slope):
    rng = np.random.default_rng(8)
    groups = [[0, 1, 2], [3, 4, 5]]
    return convolution_with_pooling(rng.normal(size=(4, 5)), groups, slope=slope), rng.normal(size=(40, 5, 6))


@pytest.mark.parametrize("slope", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("logit_scale", [1.0, 6.0])
def test_distil_is_online_descent_on_the_given_inputs(slope, logit_scale):
    teacher, inputs = small_teacher(slope)
    options = dict(batch=7, logit_scale=logit_scale, record=[0, 3, 200])
    run = mnist.distil(teacher, inputs, inputs[:9], 0.05, 200, np.random.default_rng(9), **options)
    online = training.descend_online(
        teacher,
        0.05,
        200,
        np.random.default_rng(9),
        sample=lambda rng, batch: inputs[rng.integers(len(inputs), size=batch)],
        **options,
    )
    # descend_online draws a batch for each record as well, so both draw the same ones up to the last step
    assert np.allclose(run.value_cosine, online.cosine, atol=1e-9)
    assert np.allclose(run.student.value, online.student.value, atol=1e-9)
    assert np.allclose(run.student.logits, online.student.logits, atol=1e-9)
    residual = teacher(inputs[:9]) - run.student(inputs[:9])
    assert run.loss[-1] == pytest.approx(np.sum(residual**2) / 18)
    assert run.loss[-1] < run.loss[0]
    assert run.score_cosine[0] == pytest.approx(np.sqrt(3 / 6))


def test_distil_says_that_it_diverges():
    teacher, inputs = small_teacher(0.0)
    with pytest.raises(ValueError, match="step_size must be smaller, with 50"):
        mnist.distil(teacher, inputs, inputs, 50.0, 300, np.random.default_rng(0), batch=8)


def test_equal_patches_keep_equal_scores():
    teacher, inputs = small_teacher(0.0)
    inputs[:, :, 4] = inputs[:, :, 0]  # of two different groups
    run = mnist.distil(teacher, inputs, inputs, 0.05, 500, np.random.default_rng(3), logit_scale=6.0)
    scores = run.student.scores
    assert np.allclose(scores[4], scores[0], rtol=0, atol=1e-12)
    assert np.abs(scores[5] - scores[1]).max() > 0.1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mnist.resize(np.zeros((28, 27))), "images"),
        (lambda: mnist.resize(np.zeros((28, 28)), 0), "size"),
        (lambda: mnist.patches(np.zeros((28, 28))), "multiple of 3"),
        (lambda: mnist.patches(np.full((27, 27), np.nan)), "images"),
        (lambda: mnist.images_of(np.zeros((9, 80))), "squares"),
        (lambda: mnist.pooling_groups(9, 2), "divide"),
        (lambda: mnist.train_cnn(np.zeros((4, 9, 81)), np.arange(3), 0.0, np.random.default_rng(0)), "labels"),
        (lambda: mnist.train_cnn(np.zeros((1, 9, 81)), np.array([10]), 0.0, np.random.default_rng(0)), "labels"),
        (lambda: mnist.train_cnn(np.zeros((1, 9, 81)), np.array([1]), 1.5, np.random.default_rng(0)), "slope"),
        (lambda: mnist.train_cnn(np.zeros((1, 9, 81)), np.array([1]), 0.0, None), "rng"),
        (
            lambda: mnist.train_cnn(np.zeros((1, 9, 81)), np.array([1]), 0.0, np.random.default_rng(0), step_size=0),
            "step_size",
        ),
        (
            lambda: mnist.train_cnn(np.zeros((1, 9, 81)), np.array([1]), 0.0, np.random.default_rng(0), epochs=0),
            "epochs",
        ),
        (lambda: mnist.distil(small_teacher(0.0)[0], np.ones((3, 5, 5)), np.ones((3, 5, 6)), 0.1, 1, None), "inputs"),
        (lambda: mnist.distil(small_teacher(0.0)[0], np.ones((3, 5, 6)), np.ones((3, 4, 6)), 0.1, 1, None), "held_out"),
        (lambda: mnist.distil(*small_teacher(0.0), np.ones((3, 5, 6)), 0.1, 1, None), "rng"),
        (lambda: mnist.distil(*small_teacher(0.0), np.ones((3, 5, 6)), -0.1, 1, np.random.default_rng(0)), "step_size"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
