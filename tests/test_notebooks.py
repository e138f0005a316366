"""The form of every notebook, and proof that the checks of notebooks can fail.

The outputs themselves are compared by nbval, which `make test` runs on every notebook of the book.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from form import form_problems
from refresh import BOOK, clean, notebooks

HERE = Path(__file__).parent
BAD = HERE / "bad"

# What the form check says of each known-bad notebook. Those with None have a flawless form: only a rerun unmasks them.
EXPECTED = {
    "asserts_nothing": "nothing is asserted",
    "dropped_hypothesis": None,
    "expected_error": "has the tag 'raises-exception'",
    "failing_assertion": None,
    "hidden_cell": "has the tag 'hide-input'",
    "no_alt_text": "shows a picture without an alt text",
    "numpy_scalar": "prints a NumPy scalar with its type",
    "other_kernel": "the kernelspec is not python3",
    "out_of_order": "the cells were executed out of order",
    "skipped_by_comment": "hides a cell from the comparison of outputs",
    "skipped_by_tag": "has the tag 'nbval-skip'",
    "stale_output": None,
    "trailing_semicolon": "ends a line in ';'",
    "unexecuted_cell": "1 code cells were never executed",
    "warning": "writes to stderr",
    "wrong_constant": None,
}


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.relative_to(BOOK).as_posix())
def test_a_chapter_is_in_good_form(path):
    assert form_problems(path) == []


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.relative_to(BOOK).as_posix())
def test_a_chapter_is_stored_as_refresh_writes_it(path):
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    assert nbformat.writes(clean(notebook)).rstrip("\n") + "\n" == path.read_text(encoding="utf-8")


def test_the_good_notebook_is_in_good_form():
    assert form_problems(HERE / "good.ipynb") == []


def test_every_known_bad_notebook_is_listed():
    assert sorted(EXPECTED) == sorted(path.stem for path in BAD.glob("*.ipynb"))


@pytest.mark.parametrize("name", [name for name, problem in EXPECTED.items() if problem])
def test_the_form_check_rejects(name):
    (problem,) = form_problems(BAD / f"{name}.ipynb")
    assert EXPECTED[name] in problem


def test_the_comparison_of_outputs_rejects_what_the_form_check_cannot_see():
    names = [name for name, problem in EXPECTED.items() if problem is None]
    assert all(form_problems(BAD / f"{name}.ipynb") == [] for name in names)
    command = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", "-p", "no:cacheprovider", "-q"]
    paths = [HERE / "good.ipynb", *(BAD / f"{name}.ipynb" for name in names)]
    result = subprocess.run([*command, *map(str, paths)], cwd=HERE.parent, capture_output=True, text=True, timeout=300)
    failed = re.findall(r"^FAILED \S*?(\w+)\.ipynb::Cell \d+", result.stdout, re.M)
    assert result.returncode == 1 and sorted(failed) == sorted(names), result.stdout + result.stderr
