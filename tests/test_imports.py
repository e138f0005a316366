"""The library as a package: what importing it costs, what it offers, and that what it offers is documented."""

import inspect
import re
import subprocess
import sys

import bilinear
import pytest

MATHEMATICS = ["activations", "dynamics", "model", "moments", "population", "rates", "teachers", "training"]
PUBLIC = [*MATHEMATICS, "plots", "verify"]
HEAVY = ("dask", "IPython", "joblib", "matplotlib", "networkx", "pandas", "scipy", "sympy", "torch", "tqdm")


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_loads_numpy_alone():
    loaded = run("import sys, bilinear; print(*sorted({name.split('.')[0] for name in sys.modules}))").split()
    assert "numpy" in loaded
    assert not set(HEAVY) & set(loaded)
    third_party = run(
        "import sys, numpy; before = set(sys.modules); import bilinear;"
        "print(*sorted({n.split('.')[0] for n in set(sys.modules) - before} - set(sys.stdlib_module_names)))"
    )
    assert third_party.split() == ["bilinear"]


def test_importing_is_fast():
    """0.3 s, or, where other work slows the machine, no more than NumPy itself takes in the same process."""
    code = (
        "import time; a = time.perf_counter(); import numpy; b = time.perf_counter(); import bilinear;"
        "c = time.perf_counter(); print(b - a, c - b)"
    )
    tries = []
    for _ in range(6):
        numpy_seconds, own_seconds = map(float, run(code).split())
        tries.append((numpy_seconds, own_seconds))
        if numpy_seconds + own_seconds < 0.3 or own_seconds < numpy_seconds:
            return
    pytest.fail(f"seconds for numpy and for bilinear after it: {tries}")


def test_names_that_chapters_use_are_there():
    assert set(bilinear.__all__) <= set(dir(bilinear))
    for name in PUBLIC:
        assert inspect.ismodule(getattr(bilinear, name)) or name == "model"


def public_callables():
    for name in PUBLIC:
        module = __import__(f"bilinear.{name}", fromlist=["x"])
        for key, value in vars(module).items():
            if key.startswith("_") or getattr(value, "__module__", None) != module.__name__:
                continue
            if inspect.isfunction(value):
                yield f"{name}.{key}", value, value.__doc__
            elif inspect.isclass(value):
                yield f"{name}.{key}", value, value.__doc__
                for method, member in vars(value).items():
                    member = getattr(member, "__func__", member)
                    if inspect.isfunction(member) and not method.startswith("_"):
                        yield f"{name}.{key}.{method}", member, member.__doc__


CALLABLES = list(public_callables())


@pytest.mark.parametrize(("name", "thing", "doc"), CALLABLES, ids=[name for name, *_ in CALLABLES])
def test_docstrings_name_every_argument(name, thing, doc):
    """Each public function says what its arguments are, or which other function's they are like, and its source."""
    assert doc, f"{name} has no docstring"
    assert "Source" in doc or inspect.isclass(thing) or name.split(".")[0] in ("plots", "verify"), (
        f"{name} has no source"
    )
    if "as for" in doc:
        return
    names = [one for one in inspect.signature(thing).parameters if one not in ("self", "cls", "args", "kwargs")]
    if inspect.isclass(thing) and issubclass(thing, tuple):
        names = list(thing._fields)
    missing = [one for one in names if not re.search(rf"\b{re.escape(one)}\b", doc)]
    assert not missing, f"the docstring of {name} does not name {missing}"


def test_modules_are_documented_and_say_the_version():
    for name in PUBLIC:
        assert __import__(f"bilinear.{name}", fromlist=["x"]).__doc__
    assert re.fullmatch(r"\d+\.\d+\.\d+", bilinear.__version__)
