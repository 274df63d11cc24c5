# SPDX-License-Identifier: MIT OR Apache-2.0
"""``lasthop run``."""

from __future__ import annotations

import json
import sys
import time

from .. import _lasthop
from ..errors import UserError
from ..errors import tell as note
from ..scenario import from_here, load, overrides_of
from ..tables import honest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable
    from typing import Any

    from ..scenario import Overrides, Scenario


def main(options: Namespace) -> int:
    """Runs one scenario, or several to be compared."""
    for option, path in (("--out", options.out), ("--pcap", options.pcap)):
        if path and len(options.files) > 1:
            raise UserError(f"{option} {path}: wanted one scenario, not {len(options.files)}")
    if options.pcap_end and not options.pcap:
        raise UserError(f"--pcap-end {options.pcap_end}: wanted --pcap FILE.pcapng too")
    overrides = overrides_of(options.set)
    scenarios = [load(file) for file in options.files]
    if options.out or options.pcap or options.plot:
        results = _with_files(options, scenarios, overrides)
    else:
        results = [
            _summary(scenario, from_here(overrides, scenario.directory), options)
            for scenario in scenarios
        ]
    if options.json:
        json.dump(results if len(results) > 1 else results[0], sys.stdout, indent=1)
        print()
    elif len(results) > 1:
        from ..compare import side_by_side

        print(side_by_side([scenario.label for scenario in scenarios], results))
    else:
        from ..compare import describe

        print(describe(results[0]))
    return 0


def _summary(scenario: Scenario, overrides: Overrides, options: Namespace) -> dict[str, Any]:
    """The short way, for results that are only printed: no tables, no heavy imports."""
    text, directory, seed = scenario.text, scenario.directory, options.seed
    with _Named(scenario), _Progress(scenario.label) as tell:
        begun = time.perf_counter()
        result = _lasthop.run(text, directory, overrides, seed, tell, options.threads)
        wall_s = time.perf_counter() - begun
    _note_seed(scenario, seed, is_random=result.is_random)
    return {**honest(json.loads(result.summary_json)), "wall_s": wall_s}


def _note_seed(scenario: Scenario, seed: int | None, *, is_random: bool) -> None:
    """Says that a seed was given in vain."""
    if seed is not None and not is_random:
        note(f"note: {scenario.label}: nothing depends on the seed: every --seed gives this result")


def _with_files(
    options: Namespace, scenarios: list[Scenario], overrides: Overrides
) -> list[dict[str, Any]]:
    from ..atomic import check_apart, check_ending, check_writable
    from ..overview import draw_results
    from ..plot import picture_kind, sampled, save
    from ..result import run

    outputs = [path for path in (options.out, options.pcap, options.plot) if path]
    for path in outputs:
        check_writable(path)
    check_apart(outputs, options.files)
    if options.out:
        check_ending("--out", options.out, ".parquet")
    if options.pcap:
        check_ending("--pcap", options.pcap, ".pcapng")
    if options.plot:
        picture_kind(options.plot)
    if options.pcap:
        overrides = (*overrides, ("probe.packets", "true"))
    results = []
    for scenario in scenarios:
        with _Named(scenario), _Progress(scenario.label) as tell:
            here = from_here(overrides, scenario.directory)
            probed = sampled(scenario, here) if options.plot else here
            results.append(
                run(
                    scenario,
                    set=probed,
                    seed=options.seed,
                    on_progress=tell,
                    threads=options.threads,
                )
            )
        _note_seed(scenario, options.seed, is_random=results[-1].is_random)
    if options.out:
        results[0].to_parquet(options.out)
    if options.pcap:
        results[0].to_pcapng(options.pcap, options.pcap_end or "sender")
    if options.plot:
        save(draw_results(results), options.plot)
    return [result.summary for result in results]


class _Named:
    """Puts the file's name before what is wrong with a scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self.label = scenario.label

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, _lasthop.ScenarioError):
            raise UserError(f"{self.label}: {error}") from error


class _Progress:
    """Draws a bar on a terminal for a run that takes more than a second."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.bar: Any = None

    def __enter__(self) -> Callable[[float], None] | None:
        self.begun = time.perf_counter()
        return self._tell if sys.stderr is not None and sys.stderr.isatty() else None

    def _tell(self, fraction: float) -> None:
        if self.bar is None and time.perf_counter() - self.begun > 1.0:
            from tqdm import tqdm

            layout = "{desc}: {percentage:3.0f}% |{bar}| {remaining} to go"
            self.bar = tqdm(desc=self.label, total=1.0, bar_format=layout, leave=False)
        if self.bar is not None:
            self.bar.update(fraction - self.bar.n)

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.close()
