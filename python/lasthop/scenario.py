# SPDX-License-Identifier: MIT OR Apache-2.0
"""Scenarios as Python takes them: a path, TOML text or nested dicts.

What a scenario means is decided in Rust alone; here it is only found, read and handed on.
"""

from __future__ import annotations

import json
import os
from collections import namedtuple
from collections.abc import Iterable, Mapping

from . import _lasthop
from .errors import UserError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Overrides = tuple[tuple[str, str], ...]
"""Pairs of a key's path (``ap[0].price.a``) and its new value."""

Source = str | os.PathLike[str] | Mapping[str, object]
"""What may be given for a scenario."""

Settings = Mapping[str, object] | Iterable[str | tuple[str, object]] | None
"""What may be given for overrides: a mapping, pairs, or ``path=value`` strings."""


class Scenario(namedtuple("Scenario", ["text", "directory", "label"])):
    """A scenario's text and where it came from.

    Trace files are looked up from ``directory``; error messages call it ``label``, the file's name.
    """

    __slots__ = ()

    text: str
    directory: str
    label: str


def shipped_folder() -> str:
    """The folder of the ready-made scenarios."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "scenarios")


def shipped() -> list[str]:
    """The names of the ready-made scenarios."""
    folder = shipped_folder()
    if not os.path.isdir(folder):
        return []
    return sorted(name[:-5] for name in os.listdir(folder) if name.endswith(".toml"))


def shipped_path(stem: str) -> str:
    """The file of a ready-made scenario, whatever the working directory holds."""
    return os.path.join(shipped_folder(), f"{stem}.toml")


def load(path: str | os.PathLike[str]) -> Scenario:
    """Reads a scenario file; a bare name may also be that of a shipped scenario.

    A file in the working directory comes first. A folder of that name hides none.
    """
    name = os.fspath(path)
    stem = name.removesuffix(".toml")
    found = name
    if name and os.path.basename(name) == name and not os.path.isfile(name):
        if stem in shipped():
            found = shipped_path(stem)
        elif not os.path.exists(name):
            raise UserError(f"{name}: cannot read: No such file or directory{_hint(stem)}")
    try:
        with open(found, encoding="utf-8") as file:
            text = file.read()
    except UnicodeDecodeError as error:
        raise UserError(f"{name}: not a text file: wanted a scenario in TOML") from error
    except OSError as error:
        raise UserError(f"{name}: cannot read: {error.strerror}") from error
    return Scenario(text, os.path.dirname(os.path.abspath(found)), name)


def _hint(stem: str) -> str:
    from .text import nearest

    near = nearest(stem, shipped())
    return f"; did you mean the shipped {near}?" if near else "; `lasthop list` names those shipped"


def of(source: Source | Scenario) -> Scenario:
    """The scenario of a path, of TOML text (known by its newline or ``=``) or of dicts."""
    if isinstance(source, Scenario):
        return source
    if isinstance(source, Mapping):
        return Scenario(dump_toml(source), os.getcwd(), "scenario")
    if isinstance(source, str) and ("\n" in source or "=" in source):
        return Scenario(source, os.getcwd(), "scenario")
    return load(source)


def overrides_of(settings: Settings) -> Overrides:
    """Brings every way of writing overrides into the one that Rust takes."""
    if settings is None:
        return ()
    if isinstance(settings, str):
        settings = [settings]
    pairs = settings.items() if isinstance(settings, Mapping) else settings
    found = []
    for pair in pairs:
        if isinstance(pair, str):
            path, equals, value = pair.partition("=")
            if not equals or not path.strip():
                raise UserError(f'--set {pair}: wanted path=value, e.g. "ap[0].price.a=5 kB"')
            found.append((path.strip(), value.strip()))
        else:
            path, raw = pair
            found.append((str(path), raw if isinstance(raw, str) else _toml_value(raw)))
    return tuple(found)


def from_here(overrides: Iterable[tuple[str, str]], directory: str) -> Overrides:
    """Has the files that overrides on a command line name looked for in the working directory.

    What is not there but in ``directory``, that of the scenario, is meant to be there.
    """
    found = []
    for path, value in overrides:
        if path == "file" or path.endswith(".file"):
            value = _from_here(value, directory)
        elif "file" in value and value.lstrip().startswith(("{", "[")):
            value = _with_files(value, directory)
        found.append((path, value))
    return tuple(found)


def _with_files(value: str, directory: str) -> str:
    """Does the same for a table or list written in TOML."""
    import tomllib

    def walk(node: Any, key: str = "") -> Any:
        if isinstance(node, dict):
            return {inner: walk(part, inner) for inner, part in node.items()}
        if isinstance(node, list):
            return [walk(part) for part in node]
        return _from_here(node, directory) if key == "file" and isinstance(node, str) else node

    try:
        document = tomllib.loads(f"value = {value}")
    except tomllib.TOMLDecodeError:
        return value  # Rust says what is wrong with it.
    return _toml_value(walk(document["value"]))


def _from_here(name: str, directory: str) -> str:
    if os.path.isabs(name) or (
        not os.path.exists(name) and os.path.exists(os.path.join(directory, name))
    ):
        return name
    return os.path.abspath(name)


def check(scenario: Source, *, set: Settings = None) -> str:
    """Validates a scenario; returns it as TOML with the overrides applied.

    Raises :class:`lasthop.ScenarioError` naming the key, its value and what is wanted.
    """
    text, directory, _ = of(scenario)
    return _lasthop.check(text, directory, overrides_of(set))


def schema() -> dict[str, Any]:
    """The JSON Schema of scenario files, for editors and validators."""
    found: dict[str, Any] = json.loads(_lasthop.schema())
    return found


def dump_toml(document: Mapping[str, Any]) -> str:
    """Writes nested dicts and lists as TOML, one line a top-level key."""
    return "".join(f"{_toml_key(key)} = {_toml_value(v)}\n" for key, v in document.items())


def _toml_key(key: str) -> str:
    bare = key and all(c.isascii() and (c.isalnum() or c in "-_") for c in key)
    return key if bare else json.dumps(key)


def _toml_value(value: Any) -> str:
    if not isinstance(value, str) and hasattr(value, "item") and hasattr(value, "dtype"):
        value = value.item()  # a scalar of NumPy
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_toml_key(k)} = {_toml_value(v)}" for k, v in value.items())
        return f"{{ {inner} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml_value, value))}]"
    raise UserError(f"scenario: {value!r}: wanted text, a number, true or false, a list or a dict")
