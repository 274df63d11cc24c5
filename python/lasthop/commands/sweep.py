# SPDX-License-Identifier: MIT OR Apache-2.0
"""``lasthop sweep``."""

import json
import sys
from argparse import Namespace
from typing import Any

from ..atomic import check_ending
from ..grid import run_sweep, total_goodput
from ..scenario import load
from ..text import RATES, TIMES, Column, table


def main(options: Namespace) -> int:
    """Runs the sweep, prints one row a run."""
    if options.out:
        check_ending("--out", options.out, ".parquet")
    done = run_sweep(
        load(options.file),
        grid=options.grid,
        set=options.set,
        seed=options.seed,
        seeds=options.seeds,
        jobs=options.jobs,
        dask=options.dask,
        out=options.out,
    )
    paths = [path for path, _ in done.grid]
    rows: list[dict[str, Any]] = []
    for request, record in zip(done.requests, done.records, strict=True):
        values = dict(request.overrides)
        rows.append({"grid": {path: values[path] for path in paths}, **record.summary})
    if options.json:
        json.dump(rows, sys.stdout, indent=1)
        print()
        return 0
    columns = [
        *(Column(path, path) for path in paths),
        Column("seed", "seed"),
        Column("goodput", "goodput", RATES),
        Column("queueing delay", "delay", TIMES),
        Column("fairness (Jain)", "jain"),
        Column("time-outs", "timeouts"),
        Column("drops", "drops"),
    ]
    from ..grid import mean_delay

    print(
        table(
            columns,
            [
                {
                    **row["grid"],
                    "seed": str(row["seed"]),
                    "goodput": total_goodput(row),
                    "delay": mean_delay(row),
                    "jain": row["fairness"]["jain"],
                    "timeouts": sum(flow["timeouts"] or 0 for flow in row["flows"]),
                    "drops": sum(queue["drops"] or 0 for queue in row["queues"]),
                }
                for row in rows
            ],
        )
    )
    return 0
