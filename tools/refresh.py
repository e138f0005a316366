"""Rerun notebooks of the book in place, and keep only what a reader or a test needs.

``python tools/refresh.py`` reruns all of them, ``python tools/refresh.py experiments/mnist`` one chapter. With
``--only-form`` they are stored in canonical form without a run.

A notebook is written only if it ran to its end and printed nothing to stderr. What changes from run to run without
meaning (execution times, random cell ids, details of the kernel) is removed, so that a diff shows what really changed.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

BOOK = Path(__file__).resolve().parents[1] / "book"
# The kernels get these, as the Makefile sets them for the tests and the site: one thread is enough for these sizes, and
# SymPy's path through a simplification can depend on the order of sets.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
# Stands above the first import of the library in every notebook, and so in the traceback of who has not got it.
HINT = "# No module named bilinear? It comes with this book:\n# run `pip install .` in a copy of the book's repository."
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "pygments_lexer": "ipython3"},
}


def find(chapter):
    """The notebook's path for a name such as ``experiments/mnist`` or ``book/experiments/mnist.ipynb``."""
    name = chapter.removeprefix("book/").removesuffix(".ipynb")
    path = Path(chapter) if Path(chapter).suffix == ".ipynb" and Path(chapter).exists() else BOOK / f"{name}.ipynb"
    if not path.exists():
        known = ", ".join(p.relative_to(BOOK).with_suffix("").as_posix() for p in notebooks())
        raise SystemExit(f"There is no chapter '{chapter}'. The chapters are: {known}")
    return path


def notebooks():
    return sorted(p for p in BOOK.rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts)


def run(path, timeout=600):
    """Execute the notebook at `path` in its own folder and return it, cleaned.

    Raises
    ------
    CellExecutionError
        When a cell raises.
    RuntimeError
        When a cell writes to stderr (a warning, most often).
    """
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata = nbformat.from_dict(METADATA)
    client = NotebookClient(
        notebook,
        timeout=timeout,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
        extra_arguments=["--log-level=ERROR"],  # a local kernel need not warn about unencrypted sockets
    )
    client.execute(env=ENVIRONMENT | os.environ)
    for number, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", []):
            if output.output_type == "stream" and output.name == "stderr":
                raise RuntimeError(f"cell {number} writes to stderr:\n{output.text}")
    return clean(notebook)


def clean(notebook):
    """Remove what changes from run to run: timing, the kernel's details, random cell ids, split streams."""
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    add_hint(notebook)
    seen = {}
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        # The id follows the text: it stays when another cell is added above.
        name = hashlib.sha256(f"{cell.cell_type}:{cell.source}".encode()).hexdigest()[:8]
        seen[name] = seen.get(name, 0) + 1
        cell.id = name if seen[name] == 1 else f"{name}-{seen[name]}"
        if cell.cell_type == "code":
            cell.outputs = merge_streams(cell.outputs)
    return notebook


def add_hint(notebook):
    """Say above the first import of the library how to get it."""
    for cell in notebook.cells:
        lines = cell.source.split("\n")
        imports = [n for n, line in enumerate(lines) if re.match(r"(import|from) bilinear\b", line)]
        if cell.cell_type == "code" and imports:
            if HINT not in cell.source:
                cell.source = "\n".join([*lines[: imports[0]], HINT, *lines[imports[0] :]])
            return


def merge_streams(outputs):
    """Join neighbouring pieces of one stream: how a print is cut into messages depends on time."""
    merged = []
    for output in outputs:
        last = merged[-1] if merged else None
        if last and output.output_type == last.output_type == "stream" and output.name == last.name:
            last.text += output.text
        else:
            merged.append(output)
    return merged


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chapters", nargs="*", help="for example experiments/mnist; all of them if none is named")
    parser.add_argument("--only-form", action="store_true", help="store the notebooks in canonical form without a run")
    arguments = parser.parse_args()
    failed = []
    for path in map(find, arguments.chapters) if arguments.chapters else notebooks():
        name = path.relative_to(BOOK) if path.is_relative_to(BOOK) else path
        print(f"{name} ...", end=" ", flush=True)
        start = time.perf_counter()
        try:
            notebook = clean(nbformat.read(path, as_version=4)) if arguments.only_form else run(path)
        except (CellExecutionError, RuntimeError) as error:
            print(f"failed, left as it was\n{error}")
            failed.append(str(name))
            continue
        path.write_text(nbformat.writes(notebook).rstrip("\n") + "\n", encoding="utf-8")
        print(f"{time.perf_counter() - start:.1f} s")
    if failed:
        print("Failed: " + ", ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
