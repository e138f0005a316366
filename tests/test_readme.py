"""What the read-me and the guide say is there, is there; and their example runs."""

import re

import pytest
from conftest import ROOT

LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)\)")


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_every_link_to_a_file_resolves(name):
    links = LINK.findall((ROOT / name).read_text(encoding="utf-8"))
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_folder_that_the_readme_names_is_there():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    folders = re.findall(r"^ {4}(\w+)/ ", text, re.M)
    assert len(folders) >= 4 and [folder for folder in folders if not (ROOT / folder).is_dir()] == []


def test_the_example_of_a_new_teacher_runs(capsys):
    (example,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    exec(example, {})
    last, exact = map(float, capsys.readouterr().out.split())
    assert 0 < last == exact


def test_every_make_target_that_the_texts_name_exists():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    texts = (ROOT / "README.md").read_text(encoding="utf-8") + (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert set(re.findall(r"(?:`|^ {4})make ([a-z]+)", texts, re.M)) <= targets
