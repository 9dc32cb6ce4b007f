# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs every .mlir file under test/. CMake passes the folders to look in.
import os
import shutil

import lit.formats

config.name = "tenon"
config.test_format = lit.formats.ShTest()
config.suffixes = [".mlir"]
config.excludes = ["models"]
config.test_exec_root = lit_config.params["scratch"]
config.environment["PATH"] = os.pathsep.join(
    [
        lit_config.params["tools"],
        lit_config.params["llvm_bin"],
        os.environ["PATH"],
    ]
)
if shutil.which("ptxas"):
    config.available_features.add("ptxas")
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
