# SPDX-License-Identifier: MIT OR Apache-2.0
"""The files that a scenario refers to, carried along wherever the scenario goes."""

import os
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from .errors import UserError
from .scenario import Overrides


def referenced_files(effective: str, directory: str) -> Iterator[tuple[str, str]]:
    """Yields (path of the key, path of the file) for each file that a scenario names."""
    for key, name in _file_keys(tomllib.loads(effective), ""):
        yield key, os.path.join(directory, name)


def _file_keys(node: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, dict):
        for key, value in node.items():
            inner = f"{path}.{key}" if path else key
            if key == "file" and isinstance(value, str):
                yield inner, value
            else:
                yield from _file_keys(value, inner)
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _file_keys(value, f"{path}[{index}]")


def pack(effective: str, directory: str) -> dict[str, bytes]:
    """Reads the files that a scenario names, by the path of the key that names them."""
    files = {}
    for key, path in referenced_files(effective, directory):
        try:
            with open(path, "rb") as file:
                files[key] = file.read()
        except OSError as error:
            raise UserError(f"{path}: cannot read: {error.strerror}") from error
    return files


def unpack(files: dict[str, bytes], folder: str) -> Overrides:
    """Writes packed files into ``folder``; returns the overrides that point there."""
    overrides = []
    for index, (key, content) in enumerate(sorted(files.items())):
        path = os.path.join(folder, f"{index}.trace")
        with open(path, "wb") as file:
            file.write(content)
        overrides.append((key, path))
    return tuple(overrides)


def check_whole(effective: str, moved: Mapping[str, str]) -> None:
    """Refuses an archive without a file that its scenario names: none is read from this machine."""
    for key, name in _file_keys(tomllib.loads(effective), ""):
        if key not in moved and name not in moved.values():
            raise UserError(f"{key} = {name}: is missing in the result's file: wanted it whole")
