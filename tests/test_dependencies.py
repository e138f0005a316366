"""pyproject.toml, requirements.lock, environment.yml and CONTRIBUTING.md say the same about the dependencies."""

import re
import tomllib
from importlib.metadata import version

import pytest
import yaml
from conftest import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
LIBRARY = [Requirement(text) for text in PROJECT["dependencies"]]
EXTRAS = {name: [Requirement(t) for t in texts] for name, texts in PROJECT["optional-dependencies"].items()}
LOCKED_GROUPS = [*LIBRARY, *EXTRAS["book"], *EXTRAS["test"]]
LOCK_LINES = [
    line for line in (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines() if not line.startswith("#")
]
LOCK = {canonicalize_name(Requirement(line).name): Requirement(line) for line in LOCK_LINES}


def pinned(requirement):
    """The version that a line of the lock file pins."""
    (specifier,) = requirement.specifier
    return specifier.version


def test_the_lock_file_holds_exact_pins_and_nothing_else():
    assert [line for line in LOCK_LINES if not re.fullmatch(r"[a-z0-9][a-z0-9.-]*==[\w.]+( ; .+)?", line)] == []
    assert len(LOCK) == len(LOCK_LINES)


@pytest.mark.parametrize("requirement", LOCKED_GROUPS, ids=lambda requirement: requirement.name)
def test_the_lock_file_pins_each_dependency_at_a_version_that_is_allowed(requirement):
    assert canonicalize_name(requirement.name) in LOCK, "run make lock"
    assert requirement.specifier.contains(pinned(LOCK[canonicalize_name(requirement.name)])), "run make lock"


def test_the_lock_file_pins_what_builds_the_library():
    for requirement in map(Requirement, PYPROJECT["build-system"]["requires"]):
        assert requirement.specifier.contains(pinned(LOCK[requirement.name]))


@pytest.mark.parametrize("name", sorted(LOCK))
def test_what_is_installed_is_what_the_lock_file_pins(name):
    requirement = LOCK[name]
    if requirement.marker is None or requirement.marker.evaluate():
        assert version(name) == pinned(requirement)


def test_a_dependency_is_declared_once():
    names = [canonicalize_name(r.name) for group in (LIBRARY, *EXTRAS.values()) for r in group]
    assert sorted(set(names)) == sorted(names)


def test_conda_and_binder_install_the_same_lock_file():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    python, pip, rest = environment["dependencies"]
    assert pip == "pip" and rest == {"pip": ["-r requirements.lock", "-e ."]}
    name, _, minor = python.partition("=")
    assert name == "python" and Requirement(f"python{PROJECT['requires-python']}").specifier.contains(minor)


def test_contributing_gives_a_reason_for_each_dependency():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    reasons = set(re.findall(r"^\| `([\w-]+)` \| \w+ \| .{10,} \|$", text, re.M))
    assert reasons == {r.name for group in (LIBRARY, *EXTRAS.values()) for r in group}
