//===- CompileRequest.h - Compile options from a command line -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TOOLS_TENON_COMPILEREQUEST_H
#define TENON_TOOLS_TENON_COMPILEREQUEST_H

#include "compiler/Options.h"
#include "tools/tenon/Commands.h"
#include "llvm/Support/Error.h"

namespace tenon {

/// What --dim says, each "name=lo..hi", "name=n" or "name=other".
llvm::Expected<std::vector<DimRange>>
parseDimRanges(const std::vector<std::string> &texts);

/// What --tf32 says.
Tf32 parseTf32(const std::string &text);

/// What --batch-at-once says, "auto", "all" or a number that was checked, as
/// CompileOptions has it.
int64_t itemsAtOnce(const std::string &text);

/// What --winograd says, as CompileOptions has it.
int64_t winogradOutputs(const std::string &text);

/// Options from what --cpu, --dim and --emit say; empty is the default.
llvm::Expected<CompileOptions>
makeCompileOptions(const std::string &cpu, const std::vector<std::string> &dims,
                   const std::string &emit = "");

/// What --target says, each once: cpu, cuda.
std::vector<Target> parseTargets(const std::vector<std::string> &names);

/// Sets what --precision and --precision-plan say, and reads the plan.
llvm::Error setPrecision(CompileOptions &options,
                         const PrecisionRequest &request);

/// Sets what --code-cache says: a folder, "off" or nothing.
llvm::Error setCodeCache(CompileOptions &options, const std::string &folder);

/// Sets what --seed says: a number or "input".
llvm::Error setSeed(CompileOptions &options, const std::string &text);

} // namespace tenon

#endif // TENON_TOOLS_TENON_COMPILEREQUEST_H
