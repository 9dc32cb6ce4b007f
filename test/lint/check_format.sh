#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Fails if a C or C++ file is not as clang-format 22 writes it. With --fix,
# writes it so.
cd "$(dirname "$0")/../.." || exit 1
mode="--dry-run --Werror"
[ "${1:-}" = --fix ] && mode=-i
find compiler dialects runtime tools test -name '*.h' -o -name '*.hpp' \
  -o -name '*.c' -o -name '*.cpp' |
  xargs -P "$(nproc)" -n 8 clang-format-22 $mode
