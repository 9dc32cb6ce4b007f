//===- Refusals.cpp - Operators that are known and not supported ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/Refusals.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace tenon {
namespace {

struct Group {
  Refusal refusal;
  ArrayRef<StringLiteral> ops;
};

constexpr StringLiteral strings[] = {"RegexFullMatch", "StringConcat",
                                     "StringNormalizer", "StringSplit",
                                     "TfIdfVectorizer"};
constexpr StringLiteral training[] = {"Adagrad", "Adam", "Gradient",
                                      "Momentum"};
constexpr StringLiteral images[] = {"ImageDecoder"};

constexpr StringLiteral outside = "do this before or after the model";

const Group groups[] = {
    {{"works on strings, and only numbers are supported", outside}, strings},
    {{"belongs to training", "export the model for inference"}, training},
    {{"decodes image files", outside}, images},
};

} // namespace

Refusal findRefusal(StringRef domain, StringRef op) {
  if (domain == "ai.onnx.ml")
    return {"is an operator of classical machine learning, which is not "
            "supported",
            ""};
  if (domain == "com.microsoft.nchwc")
    return {"is in the blocked layout of the CPU that onnxruntime optimized "
            "the model on",
            "save the model at graph optimization level ORT_ENABLE_EXTENDED "
            "instead of ORT_ENABLE_ALL"};
  for (const Group &group : groups)
    if (is_contained(group.ops, op))
      return group.refusal;
  return {};
}

} // namespace tenon
