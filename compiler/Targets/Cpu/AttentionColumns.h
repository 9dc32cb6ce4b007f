//===- AttentionColumns.h - Attention of many queries ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_ATTENTIONCOLUMNS_H
#define TENON_COMPILER_TARGETS_CPU_ATTENTIONCOLUMNS_H

#include "compiler/Targets/Cpu/AttentionPanels.h"
#include "compiler/Targets/Cpu/FloatTerm.h"

namespace tenon::cpu {

/// A unit of many queries. They are copied, transposed and scaled; then, a
/// block of keys at a time, come scores, what is added to them and masked, the
/// softmax so far, and the sums over values. Queries lie along the vectors
/// throughout: maxima and sums of a row go down a column.
///
/// Where 16 bits are multiplied, operands are rounded while they are copied,
/// and weights when they are made. To bf16 queries are rounded as they are, and
/// the scores scaled: a scaled query would be rounded to other numbers than the
/// body says. To f16 the unit's queries, and a block's keys and values, are
/// rounded multiplied by powers of two each (see F16Operands.h).
class AttentionColumns : AttentionUnit {
public:
  AttentionColumns(const AttentionUnit &unit);

  void emit();

private:
  static constexpr int64_t tile = AttentionVectors::tile;

  /// Element [row][column] of an area whose rows are `queryBlock` long.
  Value cell(int64_t offset, Value row, Value column) {
    return element(area(offset),
                   e.add(e.mul(row, e.number(queryBlock)), column));
  }
  Value cell(int64_t offset, Value column) {
    return element(area(offset), column);
  }
  /// Query `column` of the unit, or the last one of the list for those behind.
  Value numberOf(Value column) {
    return e.min(e.add(first, column), e.sub(listLength, e.number(1)));
  }
  void forColumns(int64_t step, llvm::function_ref<void(Value)> body) {
    e.loop(e.number(0), columns, body, step);
  }

  llvm::SmallVector<Value> queriesFrom(Value column, int64_t count);
  void copyQueries();
  void roundQueries();
  void emitBlock();
  void emitMatrices(Value padded);
  Value tilesOf(Value rows);
  Value ceil(Value count);
  void makeWeights(Value padded);

  // What is done to the scores of a block before the softmax
  // (AttentionScores.cpp).
  void changeScores(Value padded);
  /// Whether scores are scaled when weights are made of them, to which nothing
  /// is done before that. The largest one must stay so.
  bool scalesLast() const { return scalesBehind() && isPlain && scale > 0; }
  /// Whether scores come as products of queries that have not been scaled.
  /// Those of f16 are freed of factors anyway, and scaled by that.
  bool scalesBehind() const { return rounds() && !usesF16(); }
  Value scaled(Value score);
  void scaleScores();
  void cap();
  void addBiases();
  void maskByPosition();
  void maskKeys();
  void dropKey(Value key);

  // Scores become weights (AttentionSoftmax.cpp).
  Value weight(Value score, Value shift);
  Value storePairs(llvm::ArrayRef<Value> weights, Value key, Value column);
  void scaleSums(Value column, Value changes, Value factor);
  void softmax(Value column, Value padded);
  void joinPieces(Value column);

  void finish();
  void storeRows();

  AttentionPanels panels;
  mlir::VectorType tileType = mlir::VectorType::get({tile}, f32);
  Value columns, firstLast, lastLast;
  Value queriesDown; // What f16 of queries is to be multiplied by.
  // Of the current block of keys.
  Value block, blockKeys;
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_ATTENTIONCOLUMNS_H
