#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# From a fresh Debian 12 to a compiled model: quickstart.sh [BUILD-DIRECTORY].
# Each command is printed before it runs, so that you can repeat it.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
bin=$build/bin
model=bert_ts17
out=$build/quickstart

run() {
  printf '\n\033[1m$ %s\033[0m\n' "$*"
  "$@"
}

run tools/deps.sh
run cmake --preset release -B "$build"
run cmake --build "$build" --target tenon materialize -j "$(nproc)"

# The bundled models carry seeds in place of weights: write them back.
run "$bin/materialize" "test/models/$model" "$out/$model"

run "$bin/tenon" compile "$out/$model/model.onnx" -o "$out/$model.tenon"
run "$bin/tenon" inspect "$out/$model.tenon"
run "$bin/tenon" run "$out/$model.tenon" \
  --inputs "$out/$model/test_data_set_0" --outputs "$out/outputs"
run "$bin/tenon" verify "$out/$model"

printf '\nThe artifact is %s; its outputs are in %s.\n' \
  "$out/$model.tenon" "$out/outputs"
