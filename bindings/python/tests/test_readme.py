"""The README's examples give the outputs that it shows."""

import doctest
import pathlib

import sardonyx

README = pathlib.Path(__file__).parent.parent / "README.md"


def test_the_readme_shows_what_happens(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(str(README), module_relative=False)
    assert failed == 0 and tried > 20


def test_the_package_shows_what_happens():
    failed, tried = doctest.testmod(sardonyx)
    assert failed == 0 and tried > 3
