#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Tries all models of the folder that prepare.py filled on this machine's GPU.
#
#     run.sh [--driver PATH] [--device N] [--seconds S]
#
# Needs a C library and NVIDIA's driver, no more. Prints tables, and writes them
# to gpu.md in the folder $OUT, or in the current one. Exits with 1 when
# anything is wrong, with 2 when nothing could be tried.
set -o pipefail
folder=$(cd "$(dirname "$0")" && pwd) || exit 2

describe_machine() {
  echo "$(date -u '+%Y-%m-%d %H:%M') UTC, Linux $(uname -r)"
  echo
  if command -v nvidia-smi >/dev/null; then
    echo '```'
    nvidia-smi --format=csv --query-gpu=\
name,driver_version,memory.total,clocks.max.sm,clocks.max.memory,power.limit
    echo '```'
    echo
  fi
}

{
  describe_machine
  "$folder/gpu_run" "$folder/manifest.txt" "$@"
} 2>&1 | tee "${OUT:-.}/gpu.md"
