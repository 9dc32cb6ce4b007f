//===- WireScan.cpp - Where a protobuf file is damaged --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/WireScan.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

using namespace llvm;

namespace tenon {
namespace {

enum WireType { Varint = 0, Fixed64 = 1, Length = 2, Fixed32 = 5 };
constexpr unsigned graphField = 7; // Of ModelProto.
constexpr unsigned lastField = 64; // No message of ONNX has more.

/// Walks the fields of one message and stops at the first impossible one.
class Scan {
public:
  Scan(ArrayRef<char> bytes, size_t base) : bytes(bytes), base(base) {}

  std::optional<std::string> run(bool isModel) {
    while (at < bytes.size()) {
      size_t start = at;
      std::optional<uint64_t> tag = varint();
      if (!tag)
        return "the field at byte " + std::to_string(base + start) +
               " starts with an unfinished number";
      uint64_t field = *tag >> 3;
      if (field == 0 || field > lastField)
        return "byte " + std::to_string(base + start) +
               " starts no field of an ONNX message";
      if (auto reason = skip(start, field, *tag & 7, isModel))
        return reason;
    }
    return std::nullopt;
  }

private:
  std::optional<uint64_t> varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70 && at < bytes.size(); shift += 7) {
      uint8_t byte = bytes[at++];
      if (shift < 64)
        value |= uint64_t(byte & 127) << shift;
      if (byte < 128)
        return value;
    }
    return std::nullopt;
  }

  std::optional<std::string> skip(size_t start, unsigned field, unsigned type,
                                  bool isModel) {
    std::string name = "field " + std::to_string(field) + " at byte " +
                       std::to_string(base + start);
    if (type == Varint) {
      if (varint())
        return std::nullopt;
      return name + (at == bytes.size() ? " is cut off"
                                        : " holds an over-long number");
    }
    std::optional<uint64_t> length;
    if (type == Fixed64)
      length = 8;
    else if (type == Fixed32)
      length = 4;
    else if (type == Length)
      length = varint();
    else
      return name + " has a wire type that ONNX does not use";
    size_t rest = bytes.size() - at;
    if (!length)
      return name + " has an unfinished length";
    if (*length > rest)
      return name + " claims " + std::to_string(*length) + " bytes but only " +
             std::to_string(rest) + " follow; the file is cut off";
    if (isModel && type == Length && field == graphField)
      if (auto reason = Scan(bytes.slice(at, *length), base + at).run(false))
        return "in the graph, " + *reason;
    at += *length;
    return std::nullopt;
  }

  ArrayRef<char> bytes;
  size_t base, at = 0;
};

} // namespace

std::string explainDamage(ArrayRef<char> bytes) {
  if (auto reason = Scan(bytes, 0).run(/*isModel=*/true))
    return *reason;
  return "a message inside it is malformed or nested too deeply";
}

} // namespace tenon
