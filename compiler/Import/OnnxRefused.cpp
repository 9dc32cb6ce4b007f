//===- OnnxRefused.cpp - Operators that are known and not supported -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row here gives a better sentence than "there is no such operator".
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/OpFamilies.h"

using namespace mlir;

namespace tenon {
namespace {

LogicalResult refuseLoop(NodeConverter &node) {
  return node.unsupported("loops are not supported",
                          "unroll it, or export one step and loop outside");
}

LogicalResult refuseSequence(NodeConverter &node) {
  return node.unsupported("sequences of tensors are not supported",
                          "export with tensors only");
}

LogicalResult refuseOptional(NodeConverter &node) {
  return node.unsupported("optional values are not supported",
                          "export with tensors only");
}

LogicalResult refuseText(NodeConverter &node) {
  return node.unsupported("strings are not supported",
                          "do this outside of the model");
}

LogicalResult refuseRandom(NodeConverter &node) {
  return node.unsupported("random numbers are not supported",
                          "make them an input of the model");
}

LogicalResult refuseTraining(NodeConverter &node) {
  return node.unsupported("it belongs to training",
                          "export the model for inference");
}

LogicalResult refuseMissing(NodeConverter &node) {
  return node.unsupported("this operator is not supported yet");
}

} // namespace

ArrayRef<OpRow> refusedRows() {
  static constexpr OpRow rows[] = {
      {"", "Bernoulli", {15, 22}, refuseRandom},
      {"", "BitCast", {26}, refuseMissing},
      {"", "CausalConvWithState", {27}, refuseMissing},
      {"", "Col2Im", {18}, refuseMissing},
      {"", "ConcatFromSequence", {11}, refuseSequence},
      {"", "DFT", {17, 20}, refuseMissing},
      {"", "DeformConv", {19, 22}, refuseMissing},
      {"", "Det", {11, 22}, refuseMissing},
      {"", "GridSample", {16, 20, 22}, refuseMissing},
      {"", "ImageDecoder", {20}, refuseMissing},
      {"", "LinearAttention", {27}, refuseMissing},
      {"", "Loop", {1, 11, 13, 16, 19, 21, 23, 24, 25}, refuseLoop},
      {"", "MaxRoiPool", {1, 22}, refuseMissing},
      {"", "MelWeightMatrix", {17}, refuseMissing},
      {"", "Multinomial", {7, 22}, refuseRandom},
      {"", "NegativeLogLikelihoodLoss", {12, 13, 22}, refuseTraining},
      {"", "NonMaxSuppression", {10, 11}, refuseMissing},
      {"", "Optional", {15}, refuseOptional},
      {"", "OptionalGetElement", {15, 18}, refuseOptional},
      {"", "OptionalHasElement", {15, 18}, refuseOptional},
      {"", "RandomNormal", {1, 22}, refuseRandom},
      {"", "RandomNormalLike", {1, 22}, refuseRandom},
      {"", "RandomUniform", {1, 22}, refuseRandom},
      {"", "RandomUniformLike", {1, 22}, refuseRandom},
      {"", "RegexFullMatch", {20}, refuseText},
      {"", "RoiAlign", {10, 16, 22}, refuseMissing},
      {"", "STFT", {17}, refuseMissing},
      {"", "Scan", {8, 9, 11, 16, 19, 21, 23, 24, 25}, refuseLoop},
      {"", "SequenceAt", {11}, refuseSequence},
      {"", "SequenceConstruct", {11}, refuseSequence},
      {"", "SequenceEmpty", {11}, refuseSequence},
      {"", "SequenceErase", {11}, refuseSequence},
      {"", "SequenceInsert", {11}, refuseSequence},
      {"", "SequenceLength", {11}, refuseSequence},
      {"", "SequenceMap", {17}, refuseSequence},
      {"", "SoftmaxCrossEntropyLoss", {12, 13}, refuseTraining},
      {"", "SplitToSequence", {11, 24}, refuseSequence},
      {"", "StringConcat", {20}, refuseText},
      {"", "StringNormalizer", {10}, refuseText},
      {"", "StringSplit", {20}, refuseText},
      {"", "TfIdfVectorizer", {9}, refuseText},
      {"", "Unique", {11}, refuseMissing},
      {"com.microsoft", "GatherBlockQuantized", {1}, refuseMissing},
      {"com.microsoft", "MoE", {1}, refuseMissing},
      {"com.microsoft", "QMoE", {1}, refuseMissing},
  };
  return rows;
}

} // namespace tenon
