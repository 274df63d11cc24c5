# SPDX-License-Identifier: MIT OR Apache-2.0
# Thin: each target is the command that a person would type. `make setup` builds everything once;
# the other targets call it and find it done.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
RUST   := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name 'Cargo.toml')

.PHONY: setup demo test check bench clean
.DELETE_ON_ERROR:

setup: $(VENV)/.built

demo: setup
	$(BIN)/python -m lasthop.demo

test: setup $(VENV)/.net-tools
	cargo test --workspace --release
	$(BIN)/python -m pytest

check: setup
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: setup
	$(BIN)/python bench/compare.py
	$(BIN)/python bench/emulate.py

clean:
	cargo clean
	rm -rf $(VENV) out

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

# What the tests in network namespaces run inside. Without root or sudo these tests say SKIPPED.
$(VENV)/.net-tools: | $(VENV)/.tools
	@missing=""; \
	command -v ping >/dev/null || missing="$$missing iputils-ping"; \
	command -v curl >/dev/null || missing="$$missing curl"; \
	command -v iperf3 >/dev/null || missing="$$missing iperf3"; \
	command -v unshare >/dev/null || missing="$$missing util-linux"; \
	if [ -n "$$missing" ]; then \
	  if [ "$$(id -u)" = 0 ]; then root=""; else root="sudo"; fi; \
	  if [ -z "$$root" ] || command -v sudo >/dev/null; then \
	    $$root apt-get update && DEBIAN_FRONTEND=noninteractive $$root apt-get install -y $$missing; \
	  fi; \
	fi
	@touch $@

# Python packages: once, and again when their list changes.
$(VENV)/.packages: pyproject.toml | $(VENV)/.tools
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	  print(*p["dependencies"], *p["optional-dependencies"]["dev"], sep="\n")' > $(VENV)/requirements.txt
	$(BIN)/python -m pip install --quiet --requirement $(VENV)/requirements.txt
	@touch $@

# The extension module: once, and again when Rust sources change.
$(VENV)/.built: $(VENV)/.packages $(RUST)
	@echo "building the simulator: a minute or two the first time"
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --release --quiet >$(VENV)/build.log
	@touch $@
