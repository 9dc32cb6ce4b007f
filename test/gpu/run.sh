#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Tries all models of the folder that prepare.py filled on this machine's GPU.
#
#     run.sh [--driver PATH] [--device N] [--seconds S] [--limit S]
#            [--cublas PATH]
#
# Needs a C library, bash, gzip and NVIDIA's driver, no more. Products are timed
# by cuBLAS as well where the loader finds one, and all single ops by torch where
# python3 has it; what is left out is said. Prints tables, and writes them to
# gpu.md in the folder $OUT, or in the current one. Exits with 1 when anything is
# wrong, with 2 when nothing could be tried.
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

# Artifacts with weights that are none come packed.
for packed in "$folder"/*.tenon.gz; do
  [ -e "$packed" ] && { gzip -df "$packed" || exit 2; }
done

{
  describe_machine
  "$folder/gpu_run" "$folder/manifest.txt" "$@"
  status=$?
  # What torch finds is no part of the verdict.
  if [ $status -ne 2 ] && grep -q '^sweep ' "$folder/manifest.txt"; then
    python3 "$folder/run_torch.py" "$folder/manifest.txt" 2>/dev/null ||
      printf '\n%s\n' \
        "Torch is left out: there is no python3 with one that sees a GPU."
  fi
  exit $status
} 2>&1 | tee "${OUT:-.}/gpu.md"
