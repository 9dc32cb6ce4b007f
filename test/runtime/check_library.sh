#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Fails if the runtime needs more than the C library, exports more than its
# interface, or is larger than it may be: check_library.sh LIBRARY LLVM-BIN.
set -eu
library=$1
bin=$2
failed=0

needed=$("$bin/llvm-readelf" -d "$library" |
  sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p')
for name in $needed; do
  case $name in
  libc.so.6 | libm.so.6 | libpthread.so.0 | libdl.so.2 | ld-linux*) ;;
  *) echo "the runtime needs $name" && failed=1 ;;
  esac
done
[ -n "$needed" ] || { echo "no NEEDED entry found" && failed=1; }

exported=$("$bin/llvm-nm" -D --defined-only --format=just-symbols "$library")
for name in $exported; do
  case $name in
  tenon_*) ;;
  *) echo "the runtime exports $name" && failed=1 ;;
  esac
done

stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
"$bin/llvm-strip" -o "$stripped" "$library"
bytes=$(wc -c <"$stripped")
echo "needs $(echo $needed); $bytes bytes stripped"
[ "$bytes" -le 307200 ] || { echo "over 300 KB" && failed=1; }
exit $failed
