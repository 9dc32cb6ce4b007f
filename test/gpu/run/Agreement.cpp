//===- Agreement.cpp - Compare outputs ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/run/Agreement.h"
#include "runtime/tenon.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>

using namespace tenon::trial;

namespace {

template <typename T> T elementAt(const Tensor &tensor, size_t i) {
  T value;
  std::memcpy(&value, tensor.bytes.data() + i * sizeof value, sizeof value);
  return value;
}

double fromHalf(uint16_t bits) {
  int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 31)
    return fraction ? NAN : sign * INFINITY;
  return sign * std::ldexp(exponent ? fraction + 1024 : fraction,
                           std::max(exponent, 1) - 25);
}

bool isFloat(uint32_t dtype) {
  return dtype == TENON_F32 || dtype == TENON_F64 || dtype == TENON_F16 ||
         dtype == TENON_BF16;
}

} // namespace

double tenon::trial::numberAt(const Tensor &tensor, size_t i) {
  switch (tensor.dtype) {
  case TENON_F64:
    return elementAt<double>(tensor, i);
  case TENON_F16:
    return fromHalf(elementAt<uint16_t>(tensor, i));
  case TENON_BF16:
    return std::bit_cast<float>(uint32_t(elementAt<uint16_t>(tensor, i)) << 16);
  default:
    return elementAt<float>(tensor, i);
  }
}

namespace {

/// Numbers past this stand for infinity: masks are made of them.
constexpr double huge = 1e30;

bool isOrdinary(double value) { return std::fabs(value) <= huge; }

/// Of two numbers of which at least one is not ordinary.
bool areAlike(double one, double other) {
  if (std::isnan(one) || std::isnan(other))
    return std::isnan(one) && std::isnan(other);
  return std::isinf(one) == std::isinf(other) && !isOrdinary(one) &&
         !isOrdinary(other) && std::signbit(one) == std::signbit(other);
}

std::string textOf(const char *format, double value) {
  char text[40];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

Problem compareFloats(const Tensor &actual, const Tensor &expected,
                      double tolerance, double &error) {
  double magnitude = 0, worst = 0;
  size_t at = 0, count = expected.size() / tenon_dtype_bytes(expected.dtype);
  for (size_t i = 0; i < count; ++i) {
    double got = numberAt(actual, i), wanted = numberAt(expected, i);
    if (!isOrdinary(got) || !isOrdinary(wanted)) {
      if (!areAlike(got, wanted))
        return "element " + std::to_string(i) + " is " + textOf("%.9g", got) +
               ", expected " + textOf("%.9g", wanted);
      continue;
    }
    magnitude = std::max(magnitude, std::fabs(wanted));
    if (std::fabs(got - wanted) <= worst)
      continue;
    worst = std::fabs(got - wanted);
    at = i;
  }
  double relative = worst / (magnitude > 0 ? magnitude : 1);
  error = std::max(error, relative);
  if (relative <= tolerance)
    return std::nullopt;
  return "the relative error is " + textOf("%.3g", relative) + " at element " +
         std::to_string(at) + ", more than " + textOf("%g", tolerance);
}

Problem compareIntegers(const Tensor &actual, const Tensor &expected) {
  size_t each = tenon_dtype_bytes(expected.dtype), wrong = 0, first = 0;
  size_t count = expected.size() / each;
  for (size_t i = count; i-- > 0;)
    if (std::memcmp(actual.bytes.data() + i * each,
                    expected.bytes.data() + i * each, each) != 0) {
      ++wrong;
      first = i;
    }
  if (!wrong)
    return std::nullopt;
  return std::to_string(wrong) + " of " + std::to_string(count) +
         " elements differ, the first is " + std::to_string(first);
}

} // namespace

std::string tenon::trial::describe(const Tensor &tensor) {
  const char *name = tenon_dtype_name(tensor.dtype);
  std::string text = name ? name : "?";
  for (size_t i = 0; i < tensor.dims.size(); ++i)
    text += (i ? "x" : "[") + std::to_string(tensor.dims[i]);
  return tensor.dims.empty() ? text + "[]" : text + "]";
}

Problem tenon::trial::compare(const Tensor &actual, const Tensor &expected,
                              double tolerance, double &error) {
  if (actual.dtype != expected.dtype || actual.dims != expected.dims)
    return "it is " + describe(actual) + ", expected " + describe(expected);
  return isFloat(expected.dtype)
             ? compareFloats(actual, expected, tolerance, error)
             : compareIntegers(actual, expected);
}
