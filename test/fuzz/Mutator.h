//===- Mutator.h - Seeded damage to ONNX models ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_FUZZ_MUTATOR_H
#define TENON_TEST_FUZZ_MUTATOR_H

#include "onnx-full.pb.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::fuzz {

/// Numbers that depend on the seed alone, on any machine.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next();
  /// Below `count`, which is not 0.
  uint64_t below(uint64_t count) { return next() % count; }
  template <typename List> auto &pick(List &&list) {
    return list[below(std::size(list))];
  }

private:
  uint64_t state;
};

/// Damages a model in one or a few places: attributes, dims, types, edges,
/// operators, whole messages.
class Mutator {
public:
  /// `operators` are the names that an op_type may become.
  Mutator(onnx_full::ModelProto &model,
          const std::vector<std::string> &operators, Random &random)
      : model(model), operators(operators), random(random) {}

  /// Returns what it did, in words.
  std::string mutate();

private:
  using Message = google::protobuf::Message;
  using Field = google::protobuf::FieldDescriptor;

  /// A field of one message, set or unset.
  struct Site {
    Message *message;
    const Field *field;
  };

  void collect(Message &message);
  std::string mutateSite(Site site);
  std::string mutateMessages(Site site);
  std::string mutateScalar(Site site);
  void setScalar(Site site, int index);
  int64_t integer(int64_t old);
  double real();
  std::string text(const Field *field, const std::string &old);

  onnx_full::ModelProto &model;
  const std::vector<std::string> &operators;
  Random &random;
  std::vector<Site> sites;
  std::vector<std::string> names;
};

/// Damages a file: bytes changed, dropped, doubled, or the rest cut off.
std::string mutateBytes(std::string &bytes, Random &random);

} // namespace tenon::fuzz

#endif // TENON_TEST_FUZZ_MUTATOR_H
