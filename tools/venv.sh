#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# venv.sh DIR VERSION: makes the Python environment DIR with onnx VERSION.
# Does nothing when it is already there.
set -eu
venv=$1
version=$2
have=$("$venv/bin/python" -c 'import onnx; print(onnx.__version__)' \
  2>/dev/null || true)
[ "$have" = "$version" ] && exit 0
echo "installing onnx $version into $venv"
"${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
  "onnx==$version"
