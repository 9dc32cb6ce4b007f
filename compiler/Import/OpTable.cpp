//===- OpTable.cpp - All operators that can be imported -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/OpFamilies.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace tenon {

namespace {

/// Operators of ai.onnx with a version 28. A row that does not list it serves
/// only the opsets before.
constexpr StringLiteral changedIn28[] = {
    "BitShift",        "Cast",         "Celu",
    "Compress",        "DepthToSpace", "DequantizeLinear",
    "Einsum",          "Mod",          "OneHot",
    "QuantizeLinear",  "ReduceLogSum", "ReduceLogSumExp",
    "ReverseSequence", "SpaceToDepth", "Unique",
};

} // namespace

ArrayRef<ArrayRef<OpRow>> allRows() {
  static const ArrayRef<OpRow> families[] = {
      activationRows(),
      attentionRows(),
      controlRows(),
      convRows(),
      deltaNetRows(),
      detectionRows(),
      determinantRows(),
      diffusionRows(),
      einsumRows(),
      elementwiseRows(),
      expertsRows(),
      fewBitsRows(),
      fourierRows(),
      fusedAttentionRows(),
      fusedNormalizeRows(),
      gatedRows(),
      groupQueryRows(),
      indexingRows(),
      linearAttentionRows(),
      loopRows(),
      lossRows(),
      matrixRows(),
      movementRows(),
      normalizeRows(),
      padRows(),
      poolRows(),
      positionBiasRows(),
      qlinearRows(),
      quantizeRows(),
      randomRows(),
      recurrentRows(),
      reductionRows(),
      resizeRows(),
      routerRows(),
      samplingRows(),
      scanRows(),
      sequenceRows(),
      shapeRows(),
      sliceRows(),
      squeezeRows(),
      uniqueRows(),
  };
  return families;
}

const OpRow *findRow(StringRef domain, StringRef op, int64_t opset) {
  // Built once, then only read: importing may run in several threads.
  static const auto byName = [] {
    llvm::StringMap<SmallVector<const OpRow *, 1>> index;
    for (ArrayRef<OpRow> family : allRows())
      for (const OpRow &row : family)
        index[row.op].push_back(&row);
    return index;
  }();
  auto found = byName.find(op);
  if (found == byName.end())
    return nullptr;
  for (const OpRow *row : found->second) {
    if (row->domain != domain || row->versions[0] > opset || opset <= 0)
      continue;
    bool isNew = opset >= 28 && domain.empty() &&
                 llvm::is_contained(changedIn28, row->op);
    if (!isNew || llvm::is_contained(row->versions, 28))
      return row;
  }
  return nullptr;
}

} // namespace tenon
