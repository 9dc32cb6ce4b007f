//===- TinyModels.h - Models for tests of the runtime ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_RUNTIME_TINYMODELS_H
#define TENON_TEST_RUNTIME_TINYMODELS_H

#include "runtime/tenon.hpp"
#include "test/runtime/ArtifactBuilder.h"

#include <atomic>
#include <memory>
#include <thread>

namespace tenon::test {

/// y = x * 2, f32[n, 4], n from 0 to 1000: node "first" multiplies with a
/// weight into the arena, node "second" copies to the output.
ArtifactBuilder scaleModel();

/// y[i] = 1000 / x[index[i]], i64; node "divide" faults on zero, node "pick" on
/// an index outside x. Dims: x[n], index[m].
ArtifactBuilder gatherModel();

/// y[i] = where the piece of row i begins, i64[n]; `grain` rows a piece.
ArtifactBuilder piecesModel(int64_t grain);

/// A loaded model with a session.
struct Loaded {
  explicit Loaded(ArtifactBuilder builder,
                  const tenon_session_options_t *options = nullptr)
      : Loaded(builder.build(), options) {}
  explicit Loaded(const std::string &artifact,
                  const tenon_session_options_t *options = nullptr);

  tenon_status_t run(std::vector<tenon_tensor_t> inputs,
                     std::vector<tenon_tensor_t> &outputs) {
    return session.run(inputs, outputs);
  }

  TemporaryFile file;
  Model model;
  Session session;
};

/// Cancels a session from a thread of its own as soon as its run has launched a
/// kernel.
class Canceller {
public:
  explicit Canceller(Session &session);
  ~Canceller();

private:
  Session &session;
  std::atomic<bool> hasBegun = false;
  std::thread thread;
};

/// Session options with a number of threads.
tenon_session_options_t withThreads(int32_t threads);

/// Loads a file; an empty Model on failure.
Model loadModel(const std::string &artifact, tenon_status_t wanted = TENON_OK);

} // namespace tenon::test

#endif // TENON_TEST_RUNTIME_TINYMODELS_H
