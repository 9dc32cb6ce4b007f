//===- CodeCache.h - Code of functions that were compiled before ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_CODECACHE_H
#define TENON_COMPILER_CODECACHE_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/ThreadPool.h"
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>

namespace tenon {

/// Code of functions by what they were compiled from, and the threads that
/// compile them, as many as this process has processors. One may serve any
/// number of compilations, from any threads; it grows with every function that
/// it has not met.
class CodeCache {
public:
  using Code = std::shared_future<std::string>;

  CodeCache() = default;

  /// One that also looks into a folder, which is made if there is none, and
  /// keeps there what it compiles. Processes may share a folder: of what was
  /// used long ago they remove what is beyond 1 GiB. Only the same build of the
  /// compiler and of the libraries that it uses finds what it kept. An error is
  /// a reason why nothing can be kept there.
  static llvm::Expected<std::shared_ptr<CodeCache>>
  inFolder(llvm::StringRef folder);

  /// The code of `source`: what `compile` makes of it, or made of an equal one.
  /// `compile` runs on a thread of its own, and behind this call, too; what is
  /// empty counts as failed and is not kept.
  Code get(llvm::StringRef source, std::function<std::string()> compile);

private:
  std::string folder; // Empty: there is none.
  std::string build;  // What is hashed with each source.
  std::mutex mutex;
  llvm::StringMap<Code> codes;
  llvm::DefaultThreadPool workers;
};

} // namespace tenon

#endif // TENON_COMPILER_CODECACHE_H
