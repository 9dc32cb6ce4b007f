//===- Emitter.h - Writes the loop nest of one kernel ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pull model: the loops of a kernel ask for an element of what is yielded, and
// `element` asks for the elements it is made of, down to loads from the
// buffers. All index arithmetic is i64.
//
// Made are two functions of the LLVM dialect with scf, arith, math and vector
// inside: NAME.LEVEL with the runtime's signature unpacks the buffers and calls
// NAME.LEVEL.rows, whose buffers do not alias. For devices, compiler/Targets/
// Cuda replaces what is virtual here: the function and what it finds there.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CPU_EMITTER_H
#define TENON_COMPILER_TARGETS_CPU_EMITTER_H

#include "compiler/Targets/Cpu/ByteTable.h"
#include "compiler/Targets/Cpu/CpuLevel.h"
#include "compiler/Targets/Cpu/Formulas.h"
#include "dialects/Kernel/Kernel.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include <map>

namespace tenon::cpu {

using kernel::Expr;
using mlir::Value;
using Indices = llvm::SmallVector<Value>;

/// Neighbouring elements in a vector: where an index counts with `first`, lane
/// j has j more. `first` is a value of its own, no number.
struct Lanes {
  Value first;
  int64_t width;
  Value count, mask; // Lanes that are there, and which; null when all are.
  /// Whether what is rounded to bf16 may lose numbers that are not normal.
  bool mayFlush = false;
};

class Emitter : public FormulaHost {
public:
  /// Functions are added to the end of `module`.
  Emitter(kernel::FuncOp kernel, const CpuLevel &level, mlir::ModuleOp module);
  virtual ~Emitter() = default;

  /// Emits the kernel by its schedule; reports what it cannot do.
  mlir::LogicalResult emit();

  kernel::FuncOp kernel;
  const CpuLevel level;
  mlir::ModuleOp module;
  ImplicitLocOpBuilder b;

  // ---- Numbers ----------------------------------------------------------
  Value number(int64_t value);
  Value valueOf(Expr expr); // Computed once, at the kernel's entry.
  Value add(Value x, Value y);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  Value div(Value x, Value y);      // x >= 0, y > 0.
  Value rem(Value x, Value y);      // x >= 0, y > 0.
  Value ceilDiv(Value x, Value y);  // x >= 0, y > 0.
  Value floorDiv(Value x, Value y); // y > 0.
  Value floorMod(Value x, Value y); // y > 0.
  Value min(Value x, Value y);
  Value max(Value x, Value y);
  Value less(Value x, Value y);  // i1
  Value equal(Value x, Value y); // i1
  Value both(Value x, Value y);  // i1 and
  Value either(Value x, Value y);
  Value select(Value condition, Value x, Value y);
  /// A row-major position as an index, and back.
  Indices delinearise(Value position, llvm::ArrayRef<Value> dims);
  Value linearise(llvm::ArrayRef<Value> index, llvm::ArrayRef<Value> dims);

  /// Runs `make` at the kernel's entry, so that its result can be used
  /// anywhere.
  Value atEntry(llvm::function_ref<Value()> make);

  /// Whether something of the kernel is looked up in a table of bytes.
  bool looksUp();

  // ---- Control ----------------------------------------------------------
  /// for (i = from; i < to; i += step)
  void loop(Value from, Value to, llvm::function_ref<void(Value i)> body,
            int64_t step = 1);
  /// The same, carrying values from one iteration to the next.
  using CarryBody =
      llvm::function_ref<llvm::SmallVector<Value>(Value, mlir::ValueRange)>;
  llvm::SmallVector<Value> loop(Value from, Value to, mlir::ValueRange initial,
                                CarryBody body, int64_t step = 1);
  void loop(Value from, Value to, Value step,
            llvm::function_ref<void(Value i)> body);
  /// A loop per size, outermost first.
  void loops(llvm::ArrayRef<Value> sizes,
             llvm::function_ref<void(llvm::ArrayRef<Value>)> body);
  /// A loop over elements of a row that do not need each other: where a row is
  /// computed by several threads, by those of them that are this one's.
  void columns(Value from, Value to, llvm::function_ref<void(Value i)> body);
  /// The same, carrying a value that starts as one that changes nothing; those
  /// of all threads are joined in the end.
  using Join = llvm::function_ref<Value(Value x, Value y)>;
  Value foldColumns(Value from, Value to, Value initial,
                    llvm::function_ref<Value(Value i, Value carried)> body,
                    Join join);
  /// The last step of it, and where a thread's elements are.
  virtual Value joinThreads(Value mine, Join join) { return mine; }
  virtual Value firstColumn() { return number(0); }
  virtual int64_t columnStep() { return 1; }
  void ifThen(Value condition, llvm::function_ref<void()> body);
  /// condition ? then() : otherwise(), evaluating only one.
  Value branch(Value condition, llvm::function_ref<Value()> then,
               llvm::function_ref<Value()> otherwise);

  // ---- Memory -----------------------------------------------------------
  /// The address of element `offset` behind `base`.
  Value address(Value base, mlir::Type memory, Value offset);
  /// Between memory and compute types of a tensor's element type.
  Value load(Value base, mlir::Type element, Value offset);
  void store(Value value, Value base, mlir::Type element, Value offset);
  /// As `element` lies in memory, and its conversions, of scalars or vectors.
  static mlir::Type memoryType(mlir::Type element);
  Value fromMemory(Value value, mlir::Type element);
  /// The bits of bf16 that f32 is rounded to, by the instruction where the
  /// level has it for as many: numbers that are not normal may become zeros.
  Value flushedBits(Value elements);
  Value toMemory(Value value, mlir::Type element);
  /// Raw, for scratch memory in compute types.
  Value loadRaw(Value base, mlir::Type type, Value offset);
  void storeRaw(Value value, Value base, Value offset);
  /// Byte areas of scratch memory, as kernel::scratchAreas lists them.
  Value scratch(unsigned area);
  /// Of the machine that runs the kernel: see CpuLevel.
  Value cacheWays();
  /// What all pieces of the launch share.
  Value shared();
  /// The buffer of a block argument, or of yielded value i.
  Value argumentBuffer(unsigned i);
  Value resultBuffer(unsigned i);

  // ---- Tensors ----------------------------------------------------------
  Indices dimsOf(Value tensor);
  /// The element at an index inside the tensor, in its compute type.
  Value element(Value tensor, llvm::ArrayRef<Value> index);
  /// Declares what element(tensor, index) is, in the current scope.
  void bind(Value tensor, llvm::ArrayRef<Value> index, Value value);
  /// Declares that a root's result lies in memory, row-major, in its memory
  /// type.
  void place(Value tensor, Value base);
  /// The index of an operand's element that broadcasts to `index`.
  Indices broadcastIndex(llvm::ArrayRef<Value> index, llvm::ArrayRef<Expr> dims,
                         Value operand);
  /// The same for one axis: an index of `whole` becomes one of `dim`.
  Value broadcastAxis(Value index, Expr whole, Expr dim);
  Value zero(mlir::Type type);
  /// An element of an index tensor as i64, counted from the end where it is
  /// negative; outside [0, size) it is a fault of `op` and 0.
  Value checkedIndex(Value tensor, llvm::ArrayRef<Value> index, Value size,
                     mlir::Operation *op);
  /// That of a gather's input along its axis, for an index of its indices.
  Value checkedIndex(graph::GatherOp op, llvm::ArrayRef<Value> index);
  /// The element of a `constant` or a `sizes`.
  Value constantElement(mlir::Operation *op, llvm::ArrayRef<Value> index);

  // ---- Vectors ----------------------------------------------------------
  /// While `body` runs, elements are asked for and stored by vectors: what
  /// depends on `lanes.first` is a vector. Of lanes that are not there nothing
  /// is read or written; their values are anything.
  void inLanes(const Lanes &lanes, llvm::function_ref<void()> body);
  /// In all lanes, unless it is a vector.
  Value spread(Value value, int64_t width);

  // ---- Roots and rows ---------------------------------------------------
  /// Evaluates what is yielded at an index of the root's result (or of
  /// kernel::iterationDims) and stores it at row-major position `position`.
  void storeYields(llvm::ArrayRef<Value> index, Value position);
  /// Where the element of `value` at `index` lies in the buffer of `yielded`,
  /// which is `value` behind transposes and reshapes.
  Value positionInside(Value value, Value yielded, llvm::ArrayRef<Value> index);
  /// The last step of roots whose rows are the result's last axis: `valueAt`
  /// gives its elements, still to be rounded; `lead` is the index of all other
  /// axes, `row` its position.
  void storeRow(mlir::Operation *root, llvm::ArrayRef<Value> lead, Value row,
                Value length, llvm::function_ref<Value(Value)> valueAt);

  // FormulaHost
  Value callMath(int function, mlir::ValueRange operands) override;
  void fault(Value bad, int code, mlir::Operation *op) override;

  /// Reports an internal limit; emission goes on with nonsense and fails.
  Value giveUp(const llvm::Twine &reason);

  Value begin, end, context;

protected:
  /// Opens the function that computes rows, after which `buffers`, `begin` and
  /// `end` are known; and closes it.
  virtual void startFunctions();
  virtual void finishFunctions();
  /// Computes rows [begin, end) by the kernel's schedule.
  virtual mlir::LogicalResult emitRows();
  /// The same by the Generic schedule.
  mlir::LogicalResult emitGeneric();
  // Found at the function's entry: the value of a symbol, scratch memory and
  // what all pieces share.
  virtual Value symbolValue(unsigned ordinal);
  virtual Value scratchBase();
  virtual Value sharedBase();
  /// What the address of element `offset` behind `base` is known to be a
  /// multiple of, in bytes, for a vector that begins there.
  virtual int64_t laneAlignment(Value base, mlir::Type element, Value offset);

  mlir::LLVM::LLVMFuncOp rowsFunction;
  mlir::Operation *entryEnd = nullptr; // Entry code goes before it.
  llvm::SmallVector<Value> buffers;
  Value faultSlot; // An i32 on the stack: 0, or the fault so far.

private:
  using Key = llvm::SmallVector<const void *, 6>;
  Key elementKey(Value tensor, llvm::ArrayRef<Value> index);
  Indices canonicalIndex(Value tensor, llvm::ArrayRef<Value> index);
  Value memo(Key key, llvm::function_ref<Value()> make);
  Value binary(const void *tag, Value x, Value y,
               std::optional<int64_t> (*fold)(int64_t, int64_t),
               llvm::function_ref<Value()> make);
  Value evaluate(Expr expr);
  /// How a value changes from lane to lane.
  enum class LaneStep { None, One, Other };
  struct LaneState;
  LaneStep laneStep(Value value);
  Value scalarElement(Value tensor, Indices index);
  Value laneElement(Value tensor, const Indices &index);
  Value laneValue(Value tensor, const Indices &index);
  Value laneFormula(mlir::Operation *op, const Indices &index);
  Value flushingCast(mlir::Operation *op, mlir::ValueRange operands);
  mlir::VectorType flushedType();
  llvm::SmallVector<Value> steppingLoop(Value from, Value to, Value step,
                                        mlir::ValueRange initial,
                                        CarryBody body);
  Value laneLoad(Value base, Value tensor, const Indices &index);
  Value eachLane(Value tensor, const Indices &index);
  /// Where an element of the only result lies whose rows are apart (see
  /// ResultPlaces.h): `index` is its place in sizes `dims`.
  Value positionApart(llvm::ArrayRef<Value> index, llvm::ArrayRef<Expr> dims,
                      int64_t pitch);
  void storeLanes(Value value, Value base, mlir::Type element, Value offset);
  void addWrapper();
  Value loadArgument(mlir::BlockArgument argument, llvm::ArrayRef<Value> index);
  Value loadRowMajor(Value base, Value tensor, llvm::ArrayRef<Value> index);
  Value loadPackedRow(Value base, Value tensor, llvm::ArrayRef<Value> index);
  Value constantBase(mlir::Operation *op);
  /// The code's own bytes that belong to an op, aligned to 64.
  Value bytesBase(mlir::Operation *op, llvm::StringRef bytes);
  /// What a level with permutes of bytes looks up; null for what it computes.
  const ByteTable *tableOf(mlir::Operation *op);
  Value lookUp(mlir::Operation *op, const ByteTable &table, Value byte);
  Value sizesBase(mlir::Operation *op);

  std::vector<std::map<Key, Value>> scopes;
  LaneState *laneState = nullptr;
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<ByteTable>> tables;
  llvm::DenseMap<Value, Value> placed;
  Value params;
  bool failedAlready = false;
};

// The rules for elements of data movement and constants.
Value emitMovement(Emitter &e, mlir::Operation *op,
                   llvm::ArrayRef<Value> index);

/// Where an index of the last axis is known to be: of what is padded, or of
/// what is put around it.
enum class PadPart { Unknown, Inside, Outside };
/// An element of a padded tensor.
Value emitPad(Emitter &e, graph::PadOp op, llvm::ArrayRef<Value> index,
              PadPart part = PadPart::Unknown);

/// An element of a resized tensor that has some, still to be rounded.
Value resizedElement(Emitter &e, graph::ResizeOp op,
                     llvm::ArrayRef<Value> index);

/// The loop nest of the PackedMatmul schedule, and of BatchedMatmul.
mlir::LogicalResult emitPanelMatmul(Emitter &e, bool isPacked);

/// That of PackedMatmulInt8, and of BatchedMatmulInt8.
mlir::LogicalResult emitIntegerMatmul(Emitter &e, bool isPacked);

/// Those of the schedules of convolutions.
mlir::LogicalResult emitPackedConv(Emitter &e);
mlir::LogicalResult emitDepthwiseConv(Emitter &e);
mlir::LogicalResult emitFewMapsConv(Emitter &e);
mlir::LogicalResult emitDirectConv(Emitter &e);

/// The loop nest of the Attention schedule.
mlir::LogicalResult emitAttentionBlocks(Emitter &e);

/// Those of the RowProgram schedule.
mlir::LogicalResult emitRowProgram(Emitter &e);

// The loop nests of kernels; false when `root` is of another kind.
void emitPointwiseRows(Emitter &e);
bool emitMatmul(Emitter &e, mlir::Operation *root);
bool emitWindows(Emitter &e, mlir::Operation *root);
bool emitReductions(Emitter &e, mlir::Operation *root);
bool emitNormalizations(Emitter &e, mlir::Operation *root);
bool emitAppend(Emitter &e, mlir::Operation *root);
bool emitScans(Emitter &e, mlir::Operation *root);
bool emitSuppress(Emitter &e, mlir::Operation *root);
bool emitTopk(Emitter &e, mlir::Operation *root);
bool emitScatters(Emitter &e, mlir::Operation *root);
bool emitResize(Emitter &e, mlir::Operation *root);
bool emitRecurrent(Emitter &e, mlir::Operation *root);
bool emitLinearAttention(Emitter &e, mlir::Operation *root);
bool emitAttention(Emitter &e, mlir::Operation *root);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_EMITTER_H
