# SPDX-License-Identifier: MIT OR Apache-2.0
"""How the package's files hang together."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import lasthop
import pytest

PACKAGE = Path(lasthop.__file__).parent
MODULES = {
    ".".join((PACKAGE.name, *path.relative_to(PACKAGE).with_suffix("").parts)): path
    for path in sorted(PACKAGE.rglob("*.py"))
}


def imported(name: str) -> Iterator[str]:
    """The modules that a file imports, at its head or when a function needs them.

    Imports for types alone do not count, nor does the package's front, which hands on what others
    make, nor the command line, which is asked for exit statuses.
    """
    tree = ast.parse(MODULES[name].read_text())
    for_types = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    home = name.removesuffix(".__init__").split(".")
    package = home if name.endswith(".__init__") else home[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level and node not in for_types:
            base = [*package[: len(package) + 1 - node.level], *filter(None, [node.module])]
            for alias in node.names:
                for found in (".".join([*base, alias.name]), ".".join(base)):
                    known = next((m for m in (found, f"{found}.__init__") if m in MODULES), None)
                    if known:
                        yield known
                        break


def test_no_file_imports_itself_by_way_of_others() -> None:
    apart = {f"{PACKAGE.name}.__init__", f"{PACKAGE.name}.cli"}
    graph = {name: set(imported(name)) - apart for name in MODULES if name not in apart}
    assert graph["lasthop.paper"] >= {"lasthop.claims", "lasthop.errors", "lasthop.lab.__init__"}
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))
