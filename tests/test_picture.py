"""The picture of the read-me is the one that the first page of the book shows."""

from picture import PICTURE, first_picture


def test_the_picture_of_the_readme_is_that_of_the_first_page():
    assert PICTURE.read_bytes() == first_picture(), "run .venv/bin/python tools/picture.py"


def test_the_picture_is_small():
    assert PICTURE.stat().st_size < 150_000
