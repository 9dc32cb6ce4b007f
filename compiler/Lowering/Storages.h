//===- Storages.h - The memory that a function's values need --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks a function once and decides the place of each value: input, output,
// weight or arena. Lifetimes count steps over nested blocks in order; the two
// branches of an `if` follow each other, so that their storages share memory.
//
// The state of a `loop` lives from its start on in memory of its own, into
// which the end of each step copies what the body gave; the last state is a
// view of that. What comes from outside and is read inside lives as long as the
// loop.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_LOWERING_STORAGES_H
#define TENON_COMPILER_LOWERING_STORAGES_H

#include "compiler/Lowering/Joins.h"
#include "compiler/Lowering/MemoryPlan.h"
#include "dialects/Exec/Exec.h"
#include "dialects/Kernel/Kernel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace tenon {
class WeightStore;

class Storages {
public:
  /// `storesApart`: whether the target's kernels can leave room between rows.
  Storages(mlir::func::FuncOp function, WeightStore &weights, bool storesApart);

  /// Decides all places and plans the arena.
  mlir::LogicalResult plan();

  /// The bytes of a value; `layout` is how a kernel reads a weight.
  exec::BufferAttr bufferOf(mlir::Value value, llvm::StringRef layout = "");
  exec::BufferAttr outputBuffer(unsigned index, mlir::Value value);
  /// Whether a returned value has to be copied to its output at the end.
  bool needsCopy(unsigned output) const { return copies[output]; }

  llvm::ArrayRef<graph::Expr> segmentSizes() const { return segments.sizes; }
  /// The segments to make right after an op (null: at the start); the segment
  /// of an `if`'s own results is made inside its branches.
  llvm::SmallVector<unsigned> segmentsAfter(mlir::Operation *op) const;
  llvm::SmallVector<unsigned> segmentsOfResults(mlir::Operation *op) const;
  /// Those of what a step of a loop needs, and of what it leaves for the next.
  llvm::SmallVector<unsigned> segmentsOfStep(graph::LoopOp op) const;
  llvm::SmallVector<unsigned> segmentsOfNext(graph::LoopOp op) const;

  /// Whether a call has nothing to do: what it joins is where it belongs.
  bool isJoined(kernel::CallOp call) const { return joined.contains(call); }
  /// The pitch of a call's result, whose rows lie between those of others; 0
  /// where they follow each other.
  int64_t pitchOf(kernel::CallOp call) const;
  /// Where a call leaves its result a second time, if anywhere.
  struct Copy {
    exec::BufferAttr buffer;
    int64_t pitch;
  };
  std::optional<Copy> copyOf(kernel::CallOp call);

  /// The operand in whose memory a call leaves its result, if any.
  std::optional<unsigned> inPlaceOperand(kernel::CallOp call) const;

  /// Symbols set by an `if`: those of its result types that no one else bears.
  llvm::SmallVector<graph::Expr> bornBy(graph::IfOp op) const;

  /// Of a loop: the symbols in its state that each step sets, and those that
  /// its end sets.
  llvm::SmallVector<graph::Expr> bornByStep(graph::LoopOp op) const;
  llvm::SmallVector<graph::Expr> bornByEnd(graph::LoopOp op) const;
  /// The symbol that has the next value of one of a loop's state.
  graph::Expr nextOf(graph::Expr symbol) const;
  /// Where the condition of a next step lies.
  exec::BufferAttr conditionOf(graph::LoopOp op);
  /// Where a next state waits until all of them are known; none where it may
  /// be copied at once.
  std::optional<exec::BufferAttr> waitingOf(mlir::BlockArgument state);
  /// The place of a step's row in a stack of all.
  exec::BufferAttr rowOf(graph::LoopOp op, mlir::Value stack);

private:
  struct Home {
    exec::Place place;
    unsigned index = 0;         // Of the input or output.
    Storage *storage = nullptr; // In the arena.
    mlir::Value source;         // The weight or constant.
    // Of a part of a join.
    graph::Expr offset; // From the start of the join, in bytes.
    mlir::Value join;
    int64_t pitch = 0;
  };

  void takeFromCaller(llvm::ArrayRef<graph::Expr> dims);
  void number(mlir::Block &block);
  void numberLoop(graph::LoopOp loop);
  void giveHome(mlir::Operation &op);
  Storage *store(graph::Expr bytes, unsigned begin, unsigned end);
  void keepThroughLoops();
  bool bearsAt(llvm::StringRef symbol, unsigned step) const;
  llvm::SmallVector<graph::Expr> bornBy(mlir::ValueRange values,
                                        unsigned step) const;
  llvm::SmallVector<unsigned>
  segmentsAt(const llvm::DenseMap<unsigned, unsigned> &list,
             unsigned step) const;
  exec::BufferAttr bytesAt(exec::Place place, int64_t index, graph::Expr offset,
                           graph::Expr bytes);
  exec::BufferAttr bufferOf(const Storage &storage);
  void use(mlir::Value value, unsigned step);
  void takeOutputs();
  void placeParts(kernel::CallOp call);
  void placeAppended(kernel::CallOp call);
  void placePart(const Join &join, const JoinedPart &part);
  bool mayPlace(const Join &join, const JoinedPart &part, unsigned &first);
  exec::BufferAttr bufferAt(mlir::Value value, const Home &home);
  bool isStoredTwice(const Join &join, mlir::Value root);
  bool isReadOnlyBy(mlir::Value root, mlir::Operation *op,
                    unsigned step = 0) const;
  void reuseInPlace(kernel::CallOp call);
  void assignSegments();
  bool isBornBy(graph::Expr expr, unsigned step) const;
  mlir::Value rootOf(mlir::Value value) const;
  llvm::StringRef weightName(mlir::Value source);

  mlir::func::FuncOp function;
  WeightStore &weights;
  bool storesApart;
  mlir::SymbolTable kernels;
  mlir::MLIRContext *context;
  unsigned steps = 0;
  llvm::DenseMap<mlir::Operation *, unsigned> stepOf;
  llvm::DenseMap<mlir::Operation *, unsigned> endOf; // Of an `if` or `loop`.
  llvm::DenseMap<mlir::Value, mlir::Value> viewOf;
  llvm::MapVector<mlir::Value, Home> homes;
  llvm::SmallVector<std::unique_ptr<Storage>> storages;
  llvm::DenseMap<mlir::Operation *, unsigned> nextStepOf; // Of a `loop`.
  llvm::MapVector<mlir::Operation *, Storage *> conditions;
  llvm::MapVector<mlir::Value, Storage *> waiting; // By a state of a loop.
  llvm::StringMap<unsigned> birth; // Symbol -> step; inputs': 0.
  // By the step at which a symbol is born.
  llvm::DenseMap<unsigned, unsigned> segmentAfter, resultSegment;
  llvm::DenseMap<mlir::Operation *, std::string> constantNames;
  llvm::DenseMap<mlir::Operation *, unsigned> inPlace;
  llvm::DenseSet<mlir::Operation *> joined;
  llvm::DenseMap<mlir::Operation *, Home> secondHomes; // Of calls' results.
  llvm::SmallVector<bool> copies;
  SegmentPlan segments;
};

} // namespace tenon

#endif // TENON_COMPILER_LOWERING_STORAGES_H
