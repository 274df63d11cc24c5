# SPDX-License-Identifier: MIT OR Apache-2.0
"""The Debian package: built, installed over a copy of this machine, checked, and removed.

Its unit under a systemd that runs is tried on this machine itself, if `LASTHOP_SYSTEMD=1` says
that it is there for such things.
"""

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from demands import demand, demand_program
from house import AGENT, ROOT, demand_agent, house, until

UNIT = ROOT / "packaging" / "agent" / "lasthop-agent@.service"
WITHIN = """
set -eu
mount -t tmpfs tmpfs "$1"
mkdir "$1/changes" "$1/work" "$1/machine"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/changes,workdir=$1/work" "$1/machine"
mount --rbind /dev "$1/machine/dev"
mount -t proc proc "$1/machine/proc"
cp "$2" "$1/machine/root/x.deb"
cat > "$1/machine/root/steps"
chroot "$1/machine" sh -eu /root/steps
"""
STEPS = """
exec 2>&1
export DEBIAN_FRONTEND=noninteractive
apt-get install -y -qq /root/x.deb
dpkg --verify lasthop-agent
lasthop-agent --version
lasthop-agent config check
echo 'target = "20 ms"' > /etc/lasthop/agent.toml
if lasthop-agent config check; then exit 1; fi
for page in lasthop-agent lasthop-agent-proxy; do
  zcat /usr/share/man/man8/$page.8.gz | grep -c '^\\.TH'
done
for unit in lasthop-agent lasthop-agent-ap lasthop-agent-client; do
  ! command -v systemd-analyze >/dev/null || systemd-analyze verify --man=no $unit@eth0.service
  grep -h ^ExecStart= /usr/lib/systemd/system/$unit@.service
done
bash -n /usr/share/bash-completion/completions/lasthop-agent
wants=/etc/systemd/system/eth0.device.wants
mkdir -p $wants
ln -s /usr/lib/systemd/system/lasthop-agent@.service $wants/lasthop-agent@eth0.service
apt-get remove -y -qq --purge lasthop-agent
if ls -d $wants/*; then exit 1; fi
for left in /usr/bin/lasthop-agent /etc/lasthop /usr/share/doc/lasthop-agent; do
  if [ -e $left ]; then exit 1; fi
done
echo all of it
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    demand_agent()
    for program in ("dpkg-deb", "dpkg-shlibdeps", "strip"):
        demand_program(program)
    folder = tmp_path_factory.mktemp("deb")
    for part in ("one", "two"):
        subprocess.run([ROOT / "packaging" / "make_deb", AGENT, folder / part], check=True)
    (one,), (two,) = ((folder / part).glob("*.deb") for part in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    return one


def test_it_is_installed_works_and_goes(package: Path, tmp_path: Path) -> None:
    demand_program("apt-get")
    words = ["unshare", "--mount", "--pid", "--fork", "sh", "-c", WITHIN, "sh", tmp_path, package]
    done = subprocess.run(
        list(map(str, words)), input=STEPS, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^lasthop-agent \d", done.stdout, re.MULTILINE)
    assert "/etc/lasthop/agent.toml: valid" in done.stdout
    assert "/etc/lasthop/agent.toml: target: unknown key `target`" in done.stdout
    rest = "--config /etc/lasthop/agent.toml --dev %I"
    for mode in ("proxy", "ap", "client"):
        assert f"ExecStart=/usr/bin/lasthop-agent {mode} {rest}\n" in done.stdout
    assert "all of it" in done.stdout


def test_lintian_has_no_errors(package: Path) -> None:
    demand_program("lintian")
    done = subprocess.run(
        ["lintian", "--fail-on", "error", package], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


@cache
def filters() -> dict[str, frozenset[str]]:
    """Groups of system calls, as systemd names them."""
    demand_program("systemd-analyze")
    words = ["systemd-analyze", "syscall-filter", "--no-pager"]
    out = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    groups: dict[str, list[str]] = {}
    for line in filter(None, (line.rstrip() for line in out.splitlines())):
        if line.startswith("@"):
            groups[name := line] = []
        elif groups and not line.lstrip().startswith("#"):
            groups[name].append(line.strip())

    def whole(name: str) -> frozenset[str]:
        if not name.startswith("@"):
            return frozenset([name])
        return frozenset[str]().union(*map(whole, groups[name]))

    return {name: whole(name) for name in groups}


def allowed() -> set[str]:
    """What the unit lets the agent call."""
    found: set[str] = set()
    for words in re.findall(r"^SystemCallFilter=(.*)$", UNIT.read_text(), re.MULTILINE):
        calls: set[str] = set()
        for name in words.lstrip("~").split():
            calls |= filters().get(name, frozenset([name]))
        found = found - calls if words.startswith("~") else found | calls
    return found


def test_the_unit_lets_the_agent_do_what_it_does(tmp_path: Path) -> None:
    """Each system call of a life is one that the unit allows, each socket of its families."""
    demand_program("strace")
    trace = tmp_path / "trace"
    with house() as built:
        config = tmp_path / "agent.toml"
        config.write_text('metrics = "127.0.0.1:9469"')
        agent = built.start("router", "strace", "-f", "-qq", "-o", trace, AGENT, "proxy",
            "--config", config, "--dev", "lan")  # fmt: skip
        built.agents.append(agent)
        deadline = time.monotonic() + 60
        while built.ask("router", AGENT, "status", "--dev", "lan").returncode:
            assert agent.poll() is None and time.monotonic() < deadline
        built.run("router", "curl", "-sS", "http://127.0.0.1:9469/metrics")
        time.sleep(3)
        built.run("router", AGENT, "detach", "--dev", "lan")
        agent.communicate(timeout=60)
    assert agent.returncode == 0
    text = trace.read_text()
    called = set(re.findall(r"^\d+ +(?:<\.\.\. )?(\w+)(?:\(| resumed)", text, re.MULTILINE))
    # What the loader does before the filter is there.
    called -= {"execve"}
    assert {"bpf", "capset", "signalfd4"} <= called
    assert called <= allowed(), called - allowed()
    families = re.search(r"^RestrictAddressFamilies=(.*)$", UNIT.read_text(), re.MULTILINE)
    assert families
    assert set(re.findall(r"socket\((AF_\w+)", text)) <= set(families[1].split())


def test_the_units_exposure_is_low() -> None:
    """The figure that the page states."""
    demand_program("systemd-analyze")
    words = ["systemd-analyze", "security", "--offline=true", "--no-pager", UNIT]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    assert found, done.stdout + done.stderr
    assert float(found[1]) <= 1.7


DEVICE = "lasthop0"
SERVICE = f"lasthop-agent@{DEVICE}.service"
CONFIG = Path("/etc/lasthop/agent.toml")
SLOW_S = 120.0
"""A machine that is emulated instruction by instruction takes its time."""


def ctl(*words: str) -> str:
    done = subprocess.run(["systemctl", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def told(name: str) -> str:
    return ctl("show", SERVICE, "--value", "--property", name).strip()


def is_active() -> bool:
    return told("ActiveState") == "active"


def plug() -> None:
    words = ["ip", "link", "add", DEVICE, "type", "veth", "peer", "name", "lasthop1"]
    subprocess.run(words, check=True)
    subprocess.run(["ip", "link", "set", DEVICE, "up"], check=True)


def unplug() -> None:
    subprocess.run(["ip", "link", "del", DEVICE], check=False)


def has_programs() -> bool:
    words = ["lasthop-agent", "status", "--dev", DEVICE]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


@pytest.fixture
def service(package: Path) -> Iterator[None]:
    """The unit, enabled and started on a device that comes and goes."""
    if os.environ.get("LASTHOP_SYSTEMD") != "1":
        pytest.skip("SKIPPED: LASTHOP_SYSTEMD=1 installs the package here and removes it again")
    demand("" if Path("/run/systemd/system").is_dir() else "systemd is not running")
    demand("a lasthop-agent is installed already" if shutil.which("lasthop-agent") else "")
    subprocess.run(["apt-get", "install", "-y", "-qq", package], check=True)
    try:
        plug()
        ctl("enable", "--now", SERVICE)
        until(is_active, SLOW_S)
        yield
    finally:
        subprocess.run(["systemctl", "disable", "--now", SERVICE], check=False)
        unplug()
        subprocess.run(["apt-get", "remove", "-y", "-qq", "--purge", "lasthop-agent"], check=False)


@pytest.mark.measured
def test_systemd_hears_how_it_is_and_restarts_it(service: None) -> None:
    # It is active once it has said READY, which it says with its programs at the device.
    assert has_programs()
    assert told("Type") == "notify" and told("WatchdogUSec") == "30s"
    # STATUS tells what the queue is like.
    until(lambda: "connections" in told("StatusText"), SLOW_S)
    # WATCHDOG comes twice as often as it has to.
    heard = told("WatchdogTimestampMonotonic")
    until(lambda: told("WatchdogTimestampMonotonic") != heard, SLOW_S)
    for number, sent in enumerate((signal.SIGKILL, signal.SIGSTOP), start=1):
        pid = int(told("MainPID"))
        os.kill(pid, sent)
        # systemd itself ends one that stands still, and is silent.
        until(lambda pid=pid: not is_active() or int(told("MainPID")) != pid, SLOW_S)
        until(lambda: is_active() and has_programs(), SLOW_S)
        assert int(told("MainPID")) != pid and told("NRestarts") == str(number)
    journal = subprocess.run(["journalctl", "-b", "-u", SERVICE, "--no-pager"],
                             capture_output=True, text=True, check=True).stdout  # fmt: skip
    assert "code=killed, status=9/KILL" in journal and "Watchdog timeout" in journal


@pytest.mark.measured
def test_the_service_comes_and_goes_with_its_device(service: None) -> None:
    unplug()
    until(lambda: told("ActiveState") == "inactive", SLOW_S)
    assert told("Result") == "success"
    plug()
    until(lambda: is_active() and has_programs(), SLOW_S)
    # A file that is wrong is not mended by beginning again.
    began = told("NRestarts")
    CONFIG.write_text('target = "20 ms"\n')
    subprocess.run(["systemctl", "restart", SERVICE], check=False)
    until(lambda: told("ActiveState") == "failed", SLOW_S)
    time.sleep(6)
    assert told("ActiveState") == "failed" and told("NRestarts") == began
    assert told("ExecMainStatus") == "2"


@pytest.mark.measured
def test_the_exposure_of_the_service_that_runs_is_low(service: None) -> None:
    words = ["systemd-analyze", "security", "--no-pager", SERVICE]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    assert found, done.stdout + done.stderr
    assert float(found[1]) <= 1.7
    status = Path(f"/proc/{told('MainPID')}/status").read_text()
    # CAP_NET_ADMIN, CAP_PERFMON and CAP_BPF: bits 12, 38 and 39.
    rights = f"{1 << 12 | 1 << 38 | 1 << 39:016x}"
    assert f"CapPrm:\t{rights}" in status and f"CapBnd:\t{rights}" in status
