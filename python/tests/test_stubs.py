"""The typed stubs tell what is there."""

import ast
from pathlib import Path

import solocore
from solocore import _native


def test_stubs_name_what_there_is_and_nothing_else():
    stub = ast.parse((Path(solocore.__file__).parent / "_native.pyi").read_text())
    functions = {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
    public = {name for name in dir(_native) if not name.startswith("_")}
    assert functions | set(classes) == public
    for name, node in classes.items():
        members = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
        members |= {item.target.id for item in node.body if isinstance(item, ast.AnnAssign)}
        told = {member for member in members if not member.startswith("__")}
        real = {member for member in dir(getattr(_native, name)) if not member.startswith("__")}
        assert told == real, name


def test_everything_public_has_a_docstring():
    for name in solocore.__all__:
        value = getattr(solocore, name)
        if callable(value):
            assert value.__doc__, name
    for name in dir(_native.Experiment):
        if not name.startswith("_"):
            assert getattr(_native.Experiment, name).__doc__, name
    assert (Path(solocore.__file__).parent / "py.typed").exists()
