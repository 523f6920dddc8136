# Front door to the build. The build itself is meson and ninja; this file only names the usual jobs.
#
#   make                      release build in build/
#   make check                everything that must hold before a change lands
#   make demo                 the main job, on a real repository in a temporary folder
#   make install PREFIX=…     installs the release build (DESTDIR is honoured)
#   make bench                ratios against what one would use instead
#   make fuzz SECONDS=60      each fuzz target for that long
#   make soak SECONDS=60      many tasks and waits at once, for that long
#   make generate             what comes from the tables: schema/, docs/reference/
#   make lint                 format, clang-tidy, cppcheck, shellcheck
#   make clean

PREFIX ?= /usr/local
DESTDIR ?=
SECONDS ?= 60
BUILD ?= build

.PHONY: all check demo install bench fuzz soak generate lint clean

all:
	@scripts/bootstrap build
	@scripts/build release $(BUILD)

check:
	@scripts/check

demo: all
	@ABIDE_BIN='$(CURDIR)/$(BUILD)/abide' scripts/demo

install: all
	@meson configure $(BUILD) --prefix '$(PREFIX)'
	@DESTDIR='$(DESTDIR)' meson install -C $(BUILD)

bench:
	@scripts/bootstrap build bench
	@scripts/build release $(BUILD)
	@ABIDE_BIN='$(CURDIR)/$(BUILD)/abide' tests/bench/run

fuzz:
	@scripts/bootstrap build fuzz
	@scripts/fuzz $(SECONDS)

soak:
	@scripts/bootstrap build test
	@scripts/build check build-check
	@scripts/e2e-deps
	@ABIDE_BIN='$(CURDIR)/build-check/abide' tests/e2e/soak $(SECONDS)

generate: all
	@ABIDE_BIN='$(BUILD)/abide' scripts/generate

lint:
	@scripts/bootstrap build test lint
	@scripts/lint

clean:
	rm -rf build build-check build-fuzz
