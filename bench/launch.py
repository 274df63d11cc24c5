# SPDX-License-Identifier: MIT OR Apache-2.0
"""Run one command and write what it used: `launch.py USAGE_FILE COMMAND [ARGUMENT]...`.

Linux counts the memory of the process that forks towards the peak of the one that is executed, so
the launcher has to be smaller than whatever is measured: it imports nothing, and is run with
`python -I -S`.
"""

import os
import sys


def main() -> int:
    """Run the command, wait for it alone, and return its exit status."""
    usage_file, *command = sys.argv[1:]
    child = os.posix_spawnp(command[0], command, os.environ)
    _, status, usage = os.wait4(child, 0)
    with open(usage_file, "w", encoding="ascii") as file:
        file.write(f"{usage.ru_utime} {usage.ru_stime} {usage.ru_maxrss}\n")
    return os.waitstatus_to_exitcode(status) & 0xFF


if __name__ == "__main__":
    sys.exit(main())
