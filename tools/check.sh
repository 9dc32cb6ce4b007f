#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Builds everything and runs every test: check.sh [PRESET [BUILD-DIRECTORY]].
# First the sanitizer build of the runtime and the importer, then PRESET
# (release); the last lines are ctest's own summary.
set -eu
cd "$(dirname "$0")/.."
preset=${1:-release}
build=${2:-build}
jobs=$(nproc)

tools/deps.sh
failed=0

# LLVM's library is not instrumented: its arenas would poison what it frees
# inside them, and the reports would be about it, not us.
export ASAN_OPTIONS=allow_user_poisoning=0:detect_container_overflow=0
cmake --preset asan -B "$build-asan" \
  -DTENON_VENV="$(realpath -m "$build")/venv"
cmake --build "$build-asan" -j "$jobs" --target sanitized_tests
ctest --test-dir "$build-asan" -j "$jobs" -L sanitize --output-on-failure || failed=1

# Tests compile the same kernels again and again.
export TENON_CODE_CACHE
TENON_CODE_CACHE=$(realpath -m "$build")/code-cache
cmake --preset "$preset" -B "$build"
cmake --build "$build" -j "$jobs"
ctest --test-dir "$build" -j "$jobs" --output-on-failure || failed=1
exit $failed
