//===- Compare.cpp - Does a result agree with the expected one? -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/Compare.h"

#include <algorithm>
#include <cmath>

using namespace tenon;

namespace {

constexpr double kHuge = 1e30;

enum class Kind {
  Ordinary,
  NotANumber,
  PlusInf,
  MinusInf,
  PlusHuge,
  MinusHuge
};

Kind kindOf(double value) {
  if (std::isnan(value))
    return Kind::NotANumber;
  if (std::isinf(value))
    return value > 0 ? Kind::PlusInf : Kind::MinusInf;
  if (std::fabs(value) > kHuge)
    return value > 0 ? Kind::PlusHuge : Kind::MinusHuge;
  return Kind::Ordinary;
}

std::string numberText(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string differs(int64_t i, const std::string &actual,
                    const std::string &expected) {
  return "element " + std::to_string(i) + " is " + actual + ", expected " +
         expected;
}

Agreement compareIntegers(const Tensor &actual, const Tensor &expected) {
  Agreement agreement;
  int64_t wrong = 0, count = expected.count();
  for (int64_t i = 0; i < count; ++i) {
    int64_t got = elementAsInteger(actual, i);
    int64_t wanted = elementAsInteger(expected, i);
    if (got != wanted && wrong++ == 0)
      agreement.mismatch =
          differs(i, std::to_string(got), std::to_string(wanted));
  }
  if (wrong > 1)
    agreement.mismatch += " (" + std::to_string(wrong) + " of " +
                          std::to_string(count) + " differ)";
  return agreement;
}

bool isOrdinary(double value) { return std::fabs(value) <= kHuge; }

/// With elements by a function of a tensor and a number: outputs have millions.
template <typename ElementAt>
Agreement compareFloats(const Tensor &actual, const Tensor &expected,
                        ElementAt elementAt) {
  Agreement agreement;
  double magnitude = 0, worst = 0;
  int64_t count = expected.count();
  for (int64_t i = 0; i < count; ++i) {
    double got = elementAt(actual, i), wanted = elementAt(expected, i);
    if (!isOrdinary(got) || !isOrdinary(wanted)) {
      if (kindOf(got) == kindOf(wanted))
        continue;
      agreement.mismatch = differs(i, numberText(got), numberText(wanted));
      return agreement;
    }
    magnitude = std::max(magnitude, std::fabs(wanted));
    double difference = std::fabs(got - wanted);
    if (difference > worst) {
      worst = difference;
      agreement.worst = i;
    }
  }
  agreement.error = worst / (magnitude > 0 ? magnitude : 1);
  return agreement;
}

} // namespace

Agreement tenon::compare(const Tensor &actual, const Tensor &expected) {
  Agreement agreement;
  if (actual.type != expected.type || actual.dims != expected.dims) {
    agreement.mismatch = "it is " + describe(actual.type, actual.dims) +
                         ", expected " + describe(expected.type, expected.dims);
    bool bothEmpty = actual.type == expected.type && actual.bytes.empty() &&
                     expected.bytes.empty();
    if (bothEmpty)
      agreement.mismatch.clear();
    return agreement;
  }
  if (expected.type == TENON_F32)
    return compareFloats(actual, expected, load<float>);
  return isFloat(expected.type)
             ? compareFloats(actual, expected, elementAsDouble)
             : compareIntegers(actual, expected);
}
