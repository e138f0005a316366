"""Check the form of a notebook: what the strict comparison of outputs does not see.

``python tools/form.py`` checks all notebooks of the book, ``python tools/form.py experiments/mnist`` one chapter.

The comparison of outputs (nbval) passes a cell that was never executed, skips a cell with the right tag, and compares
no picture. The rules here close those holes, and keep a page readable for everyone.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys

from refresh import BOOK, find, notebooks

REFUSED_TAGS = ("hide-", "remove-", "nbval-", "raises-exception", "skip-execution")
REFUSED_SOURCE = {
    r"#\s*(NBVAL_|PYTEST_VALIDATE)": "hides a cell from the comparison of outputs",
    r"init_printing\(": "calls init_printing, which turns formulas into pictures",
    r";\s*(#.*)?$": "ends a line in ';'",
}
REFUSED_OUTPUT = {
    r"\bnp\.\w+\(": "prints a NumPy scalar with its type",
    r" at 0x[0-9a-f]{6,}": "prints a memory address",
    r"(?<![\w.])\d\.\d+e-1[5-9]": "prints a number that is mere rounding and differs between machines",
}
CHECKS = ("proves", "agrees", "holds")


def form_problems(path):
    """What is wrong with the form of the notebook at `path`, as a list of sentences."""
    text = path.read_text(encoding="utf-8")
    notebook = json.loads(text)
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    found = []
    if not text.endswith("}\n"):
        found.append("the file does not end in one newline")
    if notebook["metadata"].get("kernelspec", {}).get("name") != "python3":
        found.append("the kernelspec is not python3")
    found += _order(code)
    for number, cell in enumerate(notebook["cells"]):
        source = "".join(cell["source"])
        problems = _code(cell, source) if cell["cell_type"] == "code" else _markdown(source)
        found += [f"cell {number}: {problem}" for problem in problems]
    if not any(_asserts("".join(cell["source"])) for cell in code):
        found.append("nothing is asserted")
    return found


def _order(code):
    counts = [cell.get("execution_count") for cell in code]
    if None in counts:
        yield f"{counts.count(None)} code cells were never executed"
    elif counts != list(range(1, len(counts) + 1)):
        yield "the cells were executed out of order"


def _code(cell, source):
    metadata = cell["metadata"]
    if not source.strip():
        yield "is empty"
    for tag in metadata.get("tags", []):
        if tag.startswith(REFUSED_TAGS):
            yield f"has the tag '{tag}'"
    if "execution" in metadata:
        yield "carries execution times; rerun it with make refresh"
    for pattern, problem in REFUSED_SOURCE.items():
        if re.search(pattern, source, re.M):
            yield problem
    pictures = False
    for output in cell["outputs"]:
        if output["output_type"] == "error":
            yield "ends in an error"
        if output.get("name") == "stderr":
            yield "writes to stderr"
        data = output.get("data", {})
        pictures |= any(kind.startswith("image/") for kind in data)
        printed = "".join(output.get("text", "")) + "".join(data.get("text/plain", ""))
        for pattern, problem in REFUSED_OUTPUT.items():
            if re.search(pattern, printed):
                yield problem
    if pictures and not metadata.get("mystnb", {}).get("image", {}).get("alt", "").strip():
        yield "shows a picture without an alt text"


def _markdown(source):
    if re.search(r"!\[\s*\]\(", source):
        yield "shows a picture without an alt text"


def _asserts(source):
    """Whether the source has an assert statement or calls one of the checks of bilinear.verify."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", None)) in CHECKS:
            return True
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chapters", nargs="*", help="for example experiments/mnist; all of them if none is named")
    arguments = parser.parse_args()
    paths = [find(chapter) for chapter in arguments.chapters] or notebooks()
    lines = [f"{path.relative_to(BOOK)}: {problem}" for path in paths for problem in form_problems(path)]
    print("\n".join(lines) if lines else f"{len(paths)} notebooks, all in good form")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
