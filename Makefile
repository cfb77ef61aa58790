# Forwards to CMake presets and scripts. `make help` lists what a person can do.
PROGRAM := build/release/roofline
SETUP   := scripts/setup.sh --once
.DEFAULT_GOAL := help
.PHONY: help setup build bench test plots format lint clean
.NOTPARALLEL:

help:
	@echo 'make bench    set up, build, and verify every kernel that can run here'
	@echo 'make test     set up, build, and run the tests'
	@echo 'make plots    draw the charts of the newest run again'
	@echo 'make setup    install what is missing (ROOFLINE_NO_INSTALL=1: only say what)'
	@echo 'make build    set up, build $(PROGRAM)'
	@echo 'make format   lay out the C sources with clang-format'
	@echo 'make lint     clang-format, clang-tidy, shellcheck, codespell, as far as installed'
	@echo 'make clean    remove build/'
	@echo './run_all.sh  measure this machine: peaks, kernels, charts, findings (--help)'

setup:
	@scripts/setup.sh

build:
	@$(SETUP)
	@scripts/build.sh release

bench: build
	@scripts/self_check.sh $(PROGRAM)

test: build
	@ctest --preset release

plots: build
	@newest=$$(ls -t results/*/*/bench.csv 2>/dev/null | head -n 1); \
	if [ -z "$$newest" ]; then echo "make: no run under results/ yet: ./run_all.sh makes one" >&2; exit 1; fi; \
	$(PROGRAM) plot "$${newest%/bench.csv}"

format:
	@git ls-files '*.c' '*.h' '*.cu' '*.cuh' '*.cpp' | xargs clang-format -i --style=file

lint:
	@scripts/lint.sh

clean:
	@rm -rf build
