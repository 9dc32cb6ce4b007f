//===- Trace.h - Runs as a Chrome trace -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TOOLS_TENON_TRACE_H
#define TENON_TOOLS_TENON_TRACE_H

#include "runtime/tenon.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace tenon {

/// Observes a session from its construction to its destruction. Launches are
/// one after the other, so they share a row; runs lie above them.
class Trace {
public:
  Trace(tenon_model_t *model, tenon_session_t *session);
  ~Trace();
  Trace(const Trace &) = delete;
  Trace &operator=(const Trace &) = delete;

  /// What was observed since the last call is one run.
  void endRun();
  /// Forgets what was observed.
  void clear();

  /// Writes the runs as JSON in Chrome's trace format, for chrome://tracing or
  /// Perfetto.
  llvm::Error write(const std::string &path) const;

private:
  struct Event {
    std::string name; // The first ONNX node, and how many more.
    std::vector<std::string> nodes;
    uint32_t kernel, pieces;
    int64_t rows, flops, bytes;
    uint64_t start, nanoseconds;
  };
  static void observe(void *self, const tenon_launch_t *launch);

  tenon_model_t *model;
  tenon_session_t *session;
  std::vector<Event> events;
  std::vector<size_t> runEnds; // Indices of events.
};

} // namespace tenon

#endif // TENON_TOOLS_TENON_TRACE_H
