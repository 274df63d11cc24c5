# SPDX-License-Identifier: MIT OR Apache-2.0
# Thin: each target is the command that a person would type. `make setup` builds everything once;
# the other targets call it and find it done.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
RUST   := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name '*.[ch]' -o -name 'Cargo.toml')
SUDO   := $(shell [ "$$(id -u)" = 0 ] || command -v sudo)
# Commits whose subjects are checked.
RANGE  ?= HEAD^..HEAD
# What check-long does: cases of each property test, seconds of each fuzzer.
CASES  ?= 2000
FUZZ_SECONDS ?= 20
# The oldest compiler that is promised to work.
OLDEST := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

# What the agent takes that is not here, as Debian calls it; where it cannot be had, all else is built without the agent.
LACKS = $(strip $(shell command -v clang >/dev/null || echo clang; [ -e /usr/include/libelf.h ] || echo libelf-dev; \
                        [ -e /usr/include/zlib.h ] || echo zlib1g-dev))
WORKSPACE = --workspace $(if $(LACKS),--exclude lasthop-agent)

.PHONY: setup demo test test-netns matrix check check-style check-minimum check-subjects check-speed check-long audit \
        fuzz bench bench-keep verdicts docs manual wheel deb hooks clean
.DELETE_ON_ERROR:

setup: $(VENV)/.built $(VENV)/.agent

demo: setup
	$(BIN)/python -m lasthop.demo

test: setup $(VENV)/.test-tools
	cargo test $(WORKSPACE) --profile checked
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal --ignore tests/netns
# Those in namespaces wait for most of the time; more at once would wait for each other.
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal tests/netns
	$(MAKE) check-speed

# The tests of emulation alone, none left out for want of rights, with those that measure in real time and want a quiet machine.
test-netns: setup $(VENV)/.test-tools
	$(SUDO) env LASTHOP_REQUIRE_ROOT=1 $(BIN)/python -m pytest -m "" -p no:cacheprovider tests/netns
	$(SUDO) $(BIN)/python tests/netns/matrix.py --few

# The agent on real kernel TCP over a matrix of networks, kept and drawn in the documents: three hours of a quiet machine.
matrix: setup $(VENV)/.test-tools
	$(SUDO) $(BIN)/python tests/netns/matrix.py --out docs/matrix.json
	$(SUDO) $(BIN)/python tests/netns/matrix.py --target 8 --out docs/matrix-8ms.json --only "rate=100 Mbit/s" flows=4 flows=16 \
		congestion=cubic congestion=bbr "congestion=bbr and cubic"
	$(BIN)/python docs/page_matrix.py

check: setup check-style
	cargo clippy $(WORKSPACE) --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc $(WORKSPACE) --no-deps --quiet
	$(BIN)/mypy

# What takes seconds.
check-style: $(VENV)/.packages
	cargo fmt --all --check
	$(BIN)/ruff check
	$(BIN)/ruff format --check

check-minimum: | $(VENV)/.tools
	rustup toolchain install --profile minimal $(OLDEST)
	PYO3_NO_PYTHON=1 cargo +$(OLDEST) check $(WORKSPACE) --all-targets --locked --target-dir target/minimum

check-subjects:
	.github/check-subjects $(RANGE)

# What a packet costs in instructions, beside the counts kept for this compiler: 3 % more fails.
check-speed: $(VENV)/.packages $(VENV)/.test-tools
	$(BIN)/python bench/instructions.py --check

# Minutes: fuzzers, and the property tests with many more cases.
check-long: fuzz
	PROPTEST_CASES=$(CASES) cargo test --release --package lasthop-core --package lasthop-sim
	LASTHOP_CASES=200 $(BIN)/python -m pytest tests/test_random.py
	LASTHOP_PACKETS=10000000 cargo test --release --package lasthop-agent --test packets mutated

# Each target for so many seconds. What made one fail lies in out/fuzz.
fuzz: setup
	$(BIN)/python fuzz/run.py --seconds $(FUZZ_SECONDS)

# Advisories on crates and Python packages, and their licences.
audit: $(VENV)/.packages $(VENV)/.packages-audit
	@command -v cargo-deny >/dev/null || { echo "lasthop: missing: cargo-deny: cargo install --locked cargo-deny" >&2; exit 1; }
	cargo deny --locked check
	$(BIN)/python -m pip freeze --exclude-editable > $(VENV)/frozen.txt
	$(BIN)/pip-audit --strict --no-deps --disable-pip --requirement $(VENV)/frozen.txt \
	  $$(sed -n 's/^\([A-Z][^ ]*\).*/--ignore-vuln \1/p' packaging/pip-audit.txt)

bench: setup
	$(BIN)/python bench/compare.py
	$(BIN)/python bench/emulate.py

# Counts instructions and cache misses of all cases, times the parts, and keeps both in bench/history.
bench-keep: $(VENV)/.packages $(VENV)/.test-tools
	$(BIN)/python bench/instructions.py --keep
	$(BIN)/python bench/parts.py --keep

# The site of the pages, in out/site. A link that leads nowhere fails.
docs: $(VENV)/.packages-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python docs/make_site.py

# The manual page and completion for shells, laid out as /usr/share is.
manual: $(VENV)/.packages
	PYTHONPATH=python $(BIN)/python packaging/make_manual.py packaging/data/data/share

wheel: manual
	$(BIN)/maturin build --release --strip --sdist --out dist

# The agent's Debian package, in out.
deb: $(VENV)/.agent $(VENV)/.deb-tools
	packaging/make_deb target/release/lasthop-agent out

# Hooks for git: layout before a commit, its subject, and `make check` before a push.
hooks: $(VENV)/.packages-hooks
	$(BIN)/pre-commit install

# What README and pages say of claims: hours on two cores. A claim other than expected is told there.
verdicts: setup
	$(BIN)/python -m lasthop fig all --scale full --out out/verdicts || [ $$? = 1 ]
	$(BIN)/python docs/make_reference.py out/verdicts

clean:
	cargo clean
	rm -rf $(VENV) out dist

# The tools that are not Python's: apt is asked only if one is missing and there is a way to ask it.
$(VENV)/.tools:
	@missing=""; \
	command -v cc >/dev/null || missing="$$missing build-essential"; \
	command -v $(PYTHON) >/dev/null || missing="$$missing python3"; \
	$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || missing="$$missing python3-venv"; \
	if [ -n "$$missing" ]; then \
	  if [ "$$(id -u)" = 0 ]; then apt-get update && apt-get install -y $$missing; \
	  elif command -v sudo >/dev/null; then sudo apt-get update && sudo apt-get install -y $$missing; \
	  else echo "lasthop: missing:$$missing: install them first" >&2; exit 1; fi; \
	fi
	@command -v cargo >/dev/null || { echo "lasthop: missing: cargo: see https://rustup.rs" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "lasthop: $$($(PYTHON) --version): wanted Python 3.11 or newer, e.g. make PYTHON=python3.12" >&2; exit 1; }
	@mkdir -p $(VENV) && touch $@

# What the tests run: in network namespaces (without root or sudo these tests say SKIPPED), under valgrind, in a browser, and in ns-2.
$(VENV)/.test-tools: | $(VENV)/.tools
	@missing=""; \
	command -v ping >/dev/null || missing="$$missing iputils-ping"; \
	command -v curl >/dev/null || missing="$$missing curl"; \
	command -v iperf3 >/dev/null || missing="$$missing iperf3"; \
	command -v unshare >/dev/null || missing="$$missing util-linux"; \
	command -v ip >/dev/null || missing="$$missing iproute2"; \
	command -v tshark >/dev/null || missing="$$missing tshark"; \
	command -v valgrind >/dev/null || missing="$$missing valgrind"; \
	command -v strace >/dev/null || missing="$$missing strace"; \
	command -v dpkg-shlibdeps >/dev/null || missing="$$missing dpkg-dev"; \
	command -v lintian >/dev/null || missing="$$missing lintian"; \
	command -v ns >/dev/null || missing="$$missing ns2"; \
	{ command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null || missing="$$missing chromium"; \
	if [ -n "$$missing" ] && { [ -n "$(SUDO)" ] || [ "$$(id -u)" = 0 ]; }; then \
	  $(SUDO) apt-get update && $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y $$missing; \
	fi
	@touch $@

# What the Debian package takes.
$(VENV)/.deb-tools: | $(VENV)/.tools
	@missing=""; \
	command -v dpkg-shlibdeps >/dev/null || missing="$$missing dpkg-dev"; \
	command -v strip >/dev/null || missing="$$missing binutils"; \
	if [ -n "$$missing" ]; then \
	  $(SUDO) apt-get update && $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y $$missing; \
	fi
	@touch $@

# Python packages: once, and again when their list changes. What only a few targets need has a list of its own.
WANTED = $(BIN)/python -c 'import sys, tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
  print(*(p["dependencies"] + p["optional-dependencies"]["dev"] if sys.argv[1] == "dev" \
  else p["optional-dependencies"][sys.argv[1]]), sep="\n")'

$(VENV)/.packages: pyproject.toml | $(VENV)/.tools
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(WANTED) dev > $(VENV)/requirements.txt
	$(BIN)/python -m pip install --quiet --requirement $(VENV)/requirements.txt
	@touch $@

$(VENV)/.packages-%: pyproject.toml | $(VENV)/.packages
	$(WANTED) $* > $@.txt
	$(BIN)/python -m pip install --quiet --requirement $@.txt
	@touch $@

# The extension module: once, and again when Rust sources change.
$(VENV)/.built: $(VENV)/.packages $(RUST)
	@echo "building the simulator: a minute or two the first time"
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --release --quiet >$(VENV)/build.log
	@touch $@

# The agent, where what it takes is there or apt can bring it. Left out, it is tried again the next time.
$(VENV)/.agent: $(RUST) | $(VENV)/.agent-tools
	$(if $(LACKS),@echo "lasthop: without the agent: it takes $(LACKS)",cargo build --release --quiet --package lasthop-agent)
	@$(if $(LACKS),:,touch $@)

$(VENV)/.agent-tools: | $(VENV)/.tools
	@if [ -n "$(LACKS)" ] && { [ -n "$(SUDO)" ] || [ "$$(id -u)" = 0 ]; }; then \
	  $(SUDO) apt-get update && $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y $(LACKS) || true; \
	fi
	@touch $@
