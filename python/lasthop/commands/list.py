# SPDX-License-Identifier: MIT OR Apache-2.0
"""``lasthop list``."""

import json
import tomllib
from argparse import Namespace
from typing import Any

from ..paper import load_paper, stems
from ..scenario import load, schema, shipped
from ..text import align


def main(options: Namespace) -> int:
    """Lists papers, figures, scenarios and laws."""
    found: dict[str, Any] = {"papers": papers(), "scenarios": scenarios(), "laws": laws()}
    if options.json:
        print(json.dumps(found, indent=1, ensure_ascii=False))
        return 0
    for paper in found["papers"]:
        print(f"paper {paper['stem']}: {paper['title']}")
        print(align([["", f["id"], f["title"]] for f in paper["figures"]], left=range(3)))
        print()
    print("scenarios")
    print(align([["", s["name"], s["title"]] for s in found["scenarios"]], left=range(3)))
    print("\nlaws and models")
    print(
        align([["", law, ", ".join(kinds)] for law, kinds in found["laws"].items()], left=range(3))
    )
    return 0


def papers() -> list[dict[str, Any]]:
    """The papers with their figures."""
    return [
        {
            "stem": stem,
            "title": paper.title,
            "figures": [
                {"id": f"{stem}:{figure}", "title": about["title"]}
                for figure, about in paper.figures.items()
            ],
            "claims": len(paper.claims),
        }
        for stem in stems()
        for paper in [load_paper(stem)]
    ]


def scenarios() -> list[dict[str, str]]:
    """The ready-made scenarios."""
    return [
        {"name": name, "title": tomllib.loads(load(name).text).get("title", "")}
        for name in shipped()
    ]


LAWS = {
    "Sender": "sender",
    "Receiver": "receiver",
    "Price": "price",
    "Feedback": "feedback",
    "Aqm": "aqm",
    "Scheduler": "scheduler",
    "Radio": "radio",
    "Loss": "loss",
    "App": "app",
}
"""Types of the scenario schema that come in kinds, and their keys."""


def laws() -> dict[str, list[str]]:
    """What may stand in a scenario where a law or model is wanted, read off the schema."""
    definitions = schema()["$defs"]
    return {key: _kinds(definitions[name]) for name, key in LAWS.items()}


def _kinds(definition: dict[str, Any]) -> list[str]:
    kinds: list[str] = []
    for variant in definition.get("oneOf", []) + definition.get("anyOf", []):
        kind = variant.get("properties", {}).get("kind", {})
        kinds += [kind["const"]] if "const" in kind else kind.get("enum", [])
    return list(dict.fromkeys(kinds))
