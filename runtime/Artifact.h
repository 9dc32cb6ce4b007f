//===- Artifact.h - An artifact file, opened and verified -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whatever is used of a file is read through one descriptor, so that what was
// verified is what runs, even when the path is replaced meanwhile.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_RUNTIME_ARTIFACT_H
#define TENON_RUNTIME_ARTIFACT_H

#include "runtime/Memory.h"
#include "runtime/model_format.h"
#include "runtime/tenon.h"

namespace tenon::runtime {

/// An open artifact with a good footer.
class Artifact {
public:
  Artifact() = default;
  Artifact(const Artifact &) = delete;
  Artifact &operator=(const Artifact &) = delete;
  ~Artifact();

  /// Opens the regular file `path` and checks its footer.
  [[nodiscard]] tenon_status_t open(const char *path);

  /// Reads the ELF image and verifies its checksum.
  [[nodiscard]] tenon_status_t readImage(Array<char> &image);

  /// Reads weights [offset, offset + bytes).
  [[nodiscard]] tenon_status_t readWeights(uint64_t offset, void *target,
                                           uint64_t bytes) {
    return read(footer.weights_offset + offset, target, bytes);
  }

  const char *getPath() const { return path; }
  int getDescriptor() const { return descriptor; }
  const tenon_footer_t &getFooter() const { return footer; }

private:
  tenon_status_t read(uint64_t offset, void *target, uint64_t bytes);
  tenon_status_t checkFooter();
  const char *checkRanges() const;

  const char *path = nullptr;
  int descriptor = -1;
  uint64_t fileBytes = 0;
  tenon_footer_t footer = {};
};

/// The weights of an artifact, mapped read-only from its file.
class Weights {
public:
  Weights() = default;
  Weights(const Weights &) = delete;
  Weights &operator=(const Weights &) = delete;
  ~Weights();

  [[nodiscard]] tenon_status_t map(const Artifact &artifact);

  /// Checks every block against its checksum.
  [[nodiscard]] tenon_status_t verify(const tenon_footer_t &footer) const;

  char *get() const { return data; }
  uint64_t size() const { return bytes; }

private:
  char *data = nullptr;
  uint64_t bytes = 0, mappedBytes = 0; // The block sums lie behind the weights.
};

} // namespace tenon::runtime

#endif // TENON_RUNTIME_ARTIFACT_H
