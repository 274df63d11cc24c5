# SPDX-License-Identifier: MIT OR Apache-2.0
"""Where ``lasthop-agent`` is."""

import os
import shutil
import sysconfig

AGENT, AGENT_VARIABLE = "lasthop-agent", "LASTHOP_AGENT"


def find_agent() -> bool:
    """Has the emulator find an agent that was built or installed beside this package.

    True if there is one: there, on the path, or where ``LASTHOP_AGENT`` says.
    """
    if os.environ.get(AGENT_VARIABLE) or shutil.which(AGENT):
        return True
    scripts = sysconfig.get_path("scripts")
    built = os.path.join(os.path.dirname(__file__), "../../target/release")
    for folder in (scripts, built):
        path = os.path.abspath(os.path.join(folder, AGENT))
        if os.access(path, os.X_OK):
            os.environ[AGENT_VARIABLE] = path
            return True
    return False
