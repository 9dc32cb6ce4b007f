#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs what the build needs and this machine lacks. Debian 12 has all of
# it in its ordinary repositories. `deps.sh --list` only prints the packages.
set -eu

packages="
  ccache clang-22 clang-format-22 cmake libbenchmark-dev libclang-rt-22-dev
  libcli11-dev libgtest-dev liblld-22-dev libmlir-22-dev libprotobuf-dev
  libxxhash-dev libzstd-dev lld-22 llvm-22-dev llvm-22-tools mlir-22-tools
  ninja-build nlohmann-json3-dev protobuf-compiler python3 python3-venv
  zlib1g-dev
"
[ "${1:-}" = --list ] && { printf '%s\n' $packages; exit; }

missing=
for package in $packages; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null ||
    true)
  [ "$status" = installed ] || missing="$missing $package"
done
[ -z "$missing" ] && exit 0

root=
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || {
    echo "deps.sh: run as root, or install:$missing" >&2
    exit 1
  }
  root=sudo
fi
echo "installing:$missing"
$root apt-get update -qq
$root env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends $missing
