# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes ``docs/scenario.md`` and ``docs/api.md``, and tables in other pages.

The first comes from the JSON Schema of scenario files, and so from the Rust structs that read
them; the second from the docstrings of the Python package; the deviations in
``docs/models.md`` from ``papers/*/paper.toml``; the summary's keys in ``docs/results.md`` from the
comments in ``summary.rs``; the verdicts in ``docs/verdicts.md`` and their counts in the README
from ``docs/verdicts.json``. Run it after a change of any of them;
``tests/test_docs.py`` fails while a page is not what this makes.
"""

import ast
import inspect
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

import lasthop
import page_matrix
import page_verdicts
from lasthop import analysis, lab
from lasthop.paper import load_paper, stems
from page_text import DOCS, between, cell, rows

PACKAGE = DOCS.parent / "python" / "lasthop"
CRATES = DOCS.parent / "crates"
SUMMARIES = [CRATES / crate / "src" / "summary.rs" for crate in ("sim", "emu")]
HEADER = """\
<!-- SPDX-License-Identifier: MIT OR Apache-2.0 -->
<!-- Made by docs/make_reference.py: change the sources, not this page. -->
"""

QUANTITIES = {
    "Duration": "time",
    "Bytes": "size",
    "Amount": "amount",
    "Rate": "rate",
    "Frequency": "frequency",
    "PerSecond": "number per second",
}
"""Definitions of the schema that are texts with a unit, as a reader would call them."""

INTRODUCTION = """\
# Scenario reference

A scenario is one TOML file. This page lists every key. The [tutorial](tutorial.md) shows their
use step by step, and [models](models.md) says what the parts do.

```toml
title    = "One download over a radio of constant rate"
duration = "60 s"
warmup   = "10 s"

[[ap]]
name  = "ap"
radio = { kind = "constant", rate = "10 Mbit/s" }
queue = { limit = "65 kB" }

[[flow]]
name    = "download"
station = "phone"
rtt     = "30 ms"
```

## How values are written

- **Quantities** are texts with a unit: `"3 ms"`, `"10 Mbit/s"`, `"19.5 kB"`. A bare number is
  refused. Prefixes are decimal (1 kB is 1000 B, 1 Mbit/s is 10⁶ bit/s); KiB and MiB are binary.
- **Kinds**: where a key takes one of several kinds, its value is a table with the key `kind`.
  The bare name of a kind stands for the table with nothing else in it: `sender = "cubic"` is
  `sender = { kind = "cubic" }`. A kind for which no keys are listed takes none.
- **Unknown keys are refused**, and so are values outside their domain. The message is one line
  with the key, the value and what is wanted.
- **Overrides** on the command line name a key by its path: `--set "flow[0].rtt=80 ms"`. Tables
  of a list are chosen by place, `flow[0]`, by name, `flow[far]`, or all at once, `flow[*]`.
- **Trace files** are looked for beside the scenario file.

`lasthop schema` prints the same as a JSON Schema; editors use it to complete and to check
(`#:schema FILE` in the first line for Taplo and Even Better TOML).
`lasthop check FILE` checks a file without running it.

The columns: *type* leads to the section that explains it; *default* is what holds where the key
is left out, *required* where it must not be, and – where leaving it out means that there is no
such thing, or what the text says; *domain* is what the value must be, where not every one of its
type will do.
"""


def scenario_page(schema: Mapping[str, Any]) -> str:
    """The reference of scenario files."""
    definitions = schema["$defs"]
    parts = [HEADER, INTRODUCTION, "## Quantities\n", _quantities(definitions)]
    parts.append("## The file\n")
    parts.append(_table(schema))
    for name in _order(schema, definitions):
        parts.append(f"## {_title(name)}\n")
        parts.append(_section(definitions[name]))
    parts.append(_rules(schema["rules"], definitions["Rules"]))
    return "\n".join(parts)


def _quantities(definitions: Mapping[str, Any]) -> str:
    table = [["type", "units"], ["---", "---"]]
    table += [[word, definitions[name]["units"]] for name, word in QUANTITIES.items()]
    return rows(table)


RULES = """\
## Rules of recovery

What `rules` of a [sender](#sender) stands for: what each switch is where its key is left out. A
key that is set departs from them. – leaves it to the size of a segment (RFC 5681). A key that is
set, and that nothing reads in such a sender, is refused: one that says how something is done which
is not done, such as `keep_sacked` without `sack` or with `rack`, whatever its value, and one that
says whether something is done, such as `eifel` without `timestamps`, where it is on.
"""

KINDS = """\
A sender follows these rules where none are asked for, and has these switches on beside them; with
`rules` it follows those as they are. By Linux's rules recovery is `"sack"`, and the bytes of
timestamps are part of `packet`, as are the 12 of the option by which `"qfcp"` and `"xcp"` then ask
routers, as a host of `lasthop-agent` does.
"""

RECEIVERS = """\
What they stand for in a [receiver](#receiver): those of `"plain"` and `"clamp"` are `"rfc"` where
none are asked for, those of `"linux"` are `"linux"`.
"""

FIGURES = """\
The figures of the papers run with:

| paper | rules | switches |
| --- | --- | --- |
| `clamp` | `"rfc"` | `initial_window = 1`, `rto_initial = "3 s"`, as the papers say |
| `gamma` | `"ns-2"` | `timestamps` where γ and δ are |
| `qfcp` | `"rfc"` | those of the senders `qfcp` and `newreno` |
| `senders` | `"rfc"` | `sack`, `timestamps` |
| `reality` | `"linux"` | those of `linux-cubic` and `linux-reno` |
"""


def _rules(rules: Mapping[str, Any], definition: Mapping[str, Any]) -> str:
    """The table of all switches of recovery."""
    profiles = [f'`"{name}"`' for name in rules["profiles"]]

    def switches_of(end: str) -> str:
        table = [["switch", *profiles], ["---"] * (1 + len(profiles))]
        table += [
            [f"`{key}`", *(_default({"default": value}) for value in values)]
            for key, values in rules[end]
        ]
        return rows(table)

    kinds = [["sender", "rules", "recovery", "switches that are on"], ["---"] * 4]
    for kind, profile, recovery, switches in rules["senders"]:
        own = ", ".join(f"`{switch}`" for switch in switches)
        way = "sack" if profile == "linux" else recovery
        kinds.append([f'`"{kind}"`', f'`"{profile}"`', f'`"{way}"`', own])
    meanings = _names(definition["oneOf"])
    senders, receivers = switches_of("switches"), switches_of("receivers")
    parts = [RULES, meanings, senders, KINDS, rows(kinds), RECEIVERS, receivers, FIGURES]
    return "\n".join(parts)


def _order(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> list[str]:
    """Definitions in the order in which a reader meets them."""
    found: list[str] = []
    waiting = [schema]
    while waiting:
        for name in _references(waiting.pop(0)):
            if name not in found and name not in QUANTITIES:
                found.append(name)
                waiting.append(definitions[name])
    return found


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, Mapping):
        for key, value in node.items():
            if key == "$ref":
                yield value.rpartition("/")[2]
            elif key != "$defs":
                yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)


def _title(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).capitalize()


def _link(name: str) -> str:
    if name in QUANTITIES:
        return f"[{QUANTITIES[name]}](#quantities)"
    title = _title(name)
    return f"[{title.lower()}](#{title.lower().replace(' ', '-')})"


def _section(definition: Mapping[str, Any]) -> str:
    text = f"{definition.get('description', '')}\n"
    variants = definition.get("oneOf", [])
    if not variants:
        return f"{text}\n{_table(definition)}"
    if all("const" in variant or "enum" in variant for variant in variants):
        return f"{text}\n{_names(variants)}"
    return f"{text}\n{_kinds(variants)}"


def _names(variants: Sequence[Mapping[str, Any]]) -> str:
    table = [["name", "meaning"], ["---", "---"]]
    for variant in variants:
        for name in [variant["const"]] if "const" in variant else variant["enum"]:
            table.append([f'`"{name}"`', cell(variant.get("description", ""))])
    return rows(table)


def _kinds(variants: Sequence[Mapping[str, Any]]) -> str:
    """The kinds of a table, each with its keys; keys that kinds share are told once."""
    tables = {v["properties"]["kind"]["const"]: v for v in variants if "properties" in v}
    shared: dict[str, list[str]] = {}
    for kind, variant in tables.items():
        for key, value in variant["properties"].items():
            if key != "kind":
                shared.setdefault(f"{key} {value} {key in variant['required']}", []).append(kind)
    groups: dict[tuple[str, ...], dict[str, Any]] = {}
    for variant in tables.values():
        for key, value in variant["properties"].items():
            if key != "kind":
                kinds = tuple(shared[f"{key} {value} {key in variant['required']}"])
                group = groups.setdefault(kinds, {"properties": {}, "required": []})
                group["properties"][key] = value
                if key in variant["required"] and key not in group["required"]:
                    group["required"].append(key)
    table = [["kind", "meaning"], ["---"] * 2]
    for kind, variant in tables.items():
        table.append([f'`"{kind}"`', cell(variant.get("description", ""))])
    parts = [rows(table)]
    for kinds, group in groups.items():
        parts.append(f"Keys of {_listed(kinds)}:\n")
        parts.append(_table(group))
    return "\n".join(parts)


def _listed(names: Sequence[str]) -> str:
    quoted = [f'`"{name}"`' for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def _table(definition: Mapping[str, Any]) -> str:
    table = [["key", "type", "default", "domain", "meaning"], ["---"] * 5]
    required = definition.get("required", [])
    properties = definition["properties"]
    for key in [*required, *(key for key in properties if key not in required)]:
        value = properties[key]
        table.append([
            f"`{key}`",
            _type(value),
            "required" if key in required else _default(value),
            value.get("domain", ""),
            cell(value.get("description", "")),
        ])  # fmt: skip
    return rows(table)


def _type(value: Mapping[str, Any]) -> str:
    if "$ref" in value:
        return _link(value["$ref"].rpartition("/")[2])
    for option in value.get("anyOf", []):
        if option.get("type") != "null":
            return _type(option)
    if value.get("type") == "array":
        return f"list of {_type(value['items'])}"
    kinds = value["type"] if isinstance(value["type"], list) else [value["type"]]
    words = {"string": "text", "boolean": "true or false", "integer": "whole number"}
    return next(words.get(kind, kind) for kind in kinds if kind != "null")


def _default(value: Mapping[str, Any]) -> str:
    default = value.get("default")
    if default is None or default == []:
        return "–"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f'`"{default}"`' if isinstance(default, str) else f"`{default}`"


API_INTRODUCTION = """\
# Python reference

```python
import lasthop

result = lasthop.run("four-flows-fast-clamp", set={"duration": "60 s", "warmup": "10 s"}, seed=1)
print(result.flows[["name", "goodput_bps", "timeouts"]])
```

The verbs are those of the command line. A scenario may be given as a path, as the name of a
shipped scenario, as TOML text or as nested dicts (`Source`). Overrides (`Settings`) are a mapping
`{"ap[0].price.a": "5 kB"}`, pairs, or texts `"ap[0].price.a=5 kB"`. What is in the tables
and in the summary stands in [results](results.md). The package is typed (`py.typed`).

The Rust crates `lasthop-core` (laws and network elements) and `lasthop-sim` (virtual time) are
documented item by item: `cargo doc --open`.
"""


LAB_INTRODUCTION = """\
# Comparisons of your own: `lasthop.lab`

What the papers' figures and claims are made of is open to you. A sweep is a scenario with some
values varied; a lab carries its runs out, each once, with every seed; a measure says what is
read off.

```python
from lasthop.lab import Axis, Lab, Sweep, mean_interval, measure

queues = Sweep(
    "four-flows-fast-tcp",
    {
        "sender": {"CUBIC": {"flow[*].sender": "cubic"}, "Vegas": {"flow[*].sender": "vegas"}},
        "limit_kb": Axis([10, 40], set={"ap[0].queue.limit": "{limit_kb} kB"}),
    },
    {"duration": "20 s", "warmup": "5 s"},
    columns={"rate_bps": "total_goodput_bps", "delay_s": "mean_delay_s"},
)
lab = Lab({"queues": queues}, seeds=[1, 2, 3])
print(lab.frame("queues").groupby(["sender", "limit_kb"])["delay_s"].mean())

at_40_kb = {"sweep": "queues", "limit_kb": 40, "column": "delay_s"}
parts = [{"sender": "CUBIC"}, {"sender": "Vegas"}]
print(mean_interval(measure({**at_40_kb, "ratio": parts}, lab)))
```
"""


ANALYSIS_INTRODUCTION = """\
# The fluid model: `lasthop.analysis`

[Analysis](analysis.md) explains the model and what follows from it.
"""


def api_page() -> str:
    """The reference of the Python package."""
    parts = [HEADER, API_INTRODUCTION]
    for name in lasthop.__all__:
        if name == "__version__":
            parts.append("## `lasthop.__version__`\n\nThe version of the simulator.\n")
            continue
        node = _definition(name)
        if isinstance(node, ast.ClassDef):
            parts.append(f"## class `lasthop.{name}`\n\n{_doc(node)}\n")
            parts += _members(node)
        else:
            parts.append(f"## `lasthop.{name}`\n\n{_signature(node)}\n\n{_doc(node)}\n")
    parts += [LAB_INTRODUCTION, f"## Measures\n\n{_language(lab.measures)}\n"]
    for name in lab.__all__:
        home = getattr(lab, name).__module__.removeprefix("lasthop.").replace(".", "/")
        node = _definition(name, home)
        if isinstance(node, ast.ClassDef):
            parts.append(f"## class `lasthop.lab.{name}`\n\n{_fields(node)}{_doc(node)}\n")
            parts += _members(node)
        else:
            parts.append(f"## `lasthop.lab.{name}`\n\n{_signature(node)}\n\n{_doc(node)}\n")
    parts += [ANALYSIS_INTRODUCTION, f"{_language(analysis)}\n"]
    for name in analysis.__all__:
        node = _definition(name, "analysis")
        parts.append(f"## `lasthop.analysis.{name}`\n\n{_signature(node)}\n\n{_doc(node)}\n")
    return "\n".join(parts)


def _language(module: ModuleType) -> str:
    """A module's documentation as Markdown: its blocks of code and its lists of terms."""
    text = _clean(module.__doc__ or "").partition("\n\n")[2]
    text = re.sub(r"::\n\n    (.+)\n", r":\n\n    \1\n", text)
    text = re.sub(r"^(`.+`)\n((?:    .+\n)+)\n?", _term, text, flags=re.MULTILINE)
    return re.sub(r"^(- .+\n)(?=[^-\n])", r"\1\n", text, flags=re.MULTILINE)


def _term(found: re.Match[str]) -> str:
    return f"- {found[1]}: {' '.join(found[2].split())}\n"


def _fields(node: ast.ClassDef) -> str:
    """How a dataclass is made."""
    given = [
        f"{field.target.id}: {ast.unparse(field.annotation)}{' = …' if field.value else ''}"
        for field in node.body
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and not field.target.id.startswith("_")
    ]
    return f"`{node.name}({', '.join(given)})`\n\n" if given else ""


def _definition(name: str, home: str = "") -> ast.ClassDef | ast.FunctionDef:
    home = home or lasthop._HOMES[name]
    path = next(p for p in (PACKAGE / f"{home}.py", PACKAGE / f"{home}.pyi") if p.exists())
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            return node
    raise LookupError(f"{path}: no definition of {name}")


def _members(node: ast.ClassDef) -> Iterator[str]:
    for member in node.body:
        if not isinstance(member, ast.FunctionDef):
            continue
        if member.name == "__init__":
            for attribute, text in zip(member.body, member.body[1:], strict=False):
                if _is_text(text) and isinstance(attribute, ast.Assign | ast.AnnAssign):
                    targets = getattr(attribute, "targets", None) or [attribute.target]
                    name = ast.unparse(targets[0]).removeprefix("self.")
                    yield f"### `{name}`\n\n{_clean(text.value.value)}\n"
        elif not member.name.startswith("_"):
            is_property = any(ast.unparse(d).endswith("property") for d in member.decorator_list)
            if is_property:
                yield f"### `{member.name}`\n\n{_returns(member)}{_doc(member)}\n"
            else:
                yield f"### `{member.name}()`\n\n{_signature(member)}\n\n{_doc(member)}\n"


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _returns(node: ast.FunctionDef) -> str:
    return f"`{ast.unparse(node.returns)}`: " if node.returns else ""


def _signature(node: ast.FunctionDef) -> str:
    arguments = ast.unparse(node.args).removeprefix("self, ").removeprefix("self")
    line = f"{node.name}({arguments}) -> {ast.unparse(node.returns)}"
    if len(line) > 90:
        inner = re.sub(r", (?=\*, |\w+: )", ",\n    ", arguments).replace("*, ", "*,\n    ")
        line = f"{node.name}(\n    {inner},\n) -> {ast.unparse(node.returns)}"
    return f"```python\n{line}\n```"


def _doc(node: ast.ClassDef | ast.FunctionDef) -> str:
    text = ast.get_docstring(node)
    if not text:
        raise LookupError(f"{node.name} has no docstring")
    return _clean(text)


def _clean(text: str) -> str:
    text = re.sub(r":\w+:`(?:lasthop\.)?([^`]+)`", r"`\1`", inspect.cleandoc(text))
    return text.replace("``", "`")


def models_page() -> str:
    """The page on models, with the deviations of the papers between its marks."""
    table = [["paper", "about", "reading taken", "others"], ["---"] * 4]
    for stem in stems():
        for deviation in load_paper(stem).document.get("deviation", []):
            cells = (deviation[key] for key in ("about", "reading", "others"))
            table.append([f"`{stem}`", *map(cell, cells)])
    text = (DOCS / "models.md").read_text(encoding="utf-8")
    return between(text, "deviations", rows(table))


def results_page() -> str:
    """The page on results, with the summary's keys as the Rust structs document them."""
    text = (DOCS / "results.md").read_text(encoding="utf-8")
    source = "".join(path.read_text(encoding="utf-8") for path in SUMMARIES)
    for name in ("Summary", "FlowSummary", "QueueSummary", "Fairness", "Emulation"):
        body = re.search(rf"pub struct {name} {{\n(.*?)\n}}", source, re.DOTALL)
        if body is None:
            raise LookupError(f"summary.rs: no struct {name}")
        table = [["key", "unit", "meaning"], ["---"] * 3]
        for comment, key in re.findall(r"((?: +///.*\n)+) +pub (\w+):", body[1] + "\n"):
            meaning = " ".join(
                line.strip().removeprefix("///").strip() for line in comment.splitlines()
            )
            unit = re.search(r" ?\\\[(.+?)\\\]", meaning)
            if unit is not None:
                meaning = meaning.replace(unit[0], "")
            table.append([f"`{key}`", unit[1] if unit else "", cell(meaning)])
        text = between(text, name, rows(table))
    return text


PAGES = {
    "models.md": models_page,
    "results.md": results_page,
    "scenario.md": lambda: scenario_page(lasthop.schema()),
    "api.md": api_page,
    "agent.md": page_matrix.agent_page,
    "station.md": page_verdicts.station_page,
    "verdicts.md": page_verdicts.verdicts_page,
    "../README.md": page_verdicts.readme_page,
}
"""The pages and who makes them."""


def main() -> None:
    """Writes the pages; first takes over the results of ``lasthop fig`` in the folders named."""
    page_verdicts.keep(sys.argv[1:])
    for name, make in PAGES.items():
        (DOCS / name).write_text(make(), encoding="utf-8")
        print(f"docs/{name}")


if __name__ == "__main__":
    main()
