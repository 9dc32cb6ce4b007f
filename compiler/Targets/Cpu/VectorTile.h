//===- VectorTile.h - Tiles whose sums stay in vector registers -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_VECTORTILE_H
#define TENON_COMPILER_TARGETS_CPU_VECTORTILE_H

#include "compiler/Targets/Cpu/PackedMatmulStrip.h"
#include "compiler/Targets/Cpu/StripProducts.h"
#include "compiler/Targets/Cpu/TileFunction.h"

namespace tenon::cpu {

/// Sums in registers: height * vectors, which with a row of B and one element
/// of A fill the register file.
struct TileShape {
  int64_t height, vectors, lanes;

  int64_t steps; // Tiles side by side in a panel.

  int64_t columns() const { return vectors * lanes; }
};

/// What a tile fetches while it computes.
enum class Fetch {
  Next,       // Its share of the next B, of many tiles.
  MuchOfNext, // Of a few.
  Own,        // What comes behind in B itself, which it alone reads.
};

/// Writes the functions that compute tiles: some rows of a strip, and as many
/// columns of a panel as have their sums in registers.
class VectorTile : protected TileBuilder {
public:
  /// Steps of k per iteration.
  static constexpr int64_t unroll = 4;
  /// Steps of k that a strip of one tile takes through all columns of a panel
  /// at once where tiles are narrower; they stay in the nearest cache
  /// meanwhile.
  static constexpr int64_t streamSteps = 64;

  /// `resumes`: tiles that fetch their own B go on with sums in memory.
  VectorTile(mlir::ModuleOp module, const CpuLevel &level, StripKind kind,
             bool interleaved, const TileShape &shape, llvm::StringRef suffix,
             bool resumes);

  /// tile(a, aStride, b, depth, c, cStride, out, outStride, accumulate, next,
  /// nextStep[, kept | isResumed, partial]): meanwhile fetches nextStep bytes
  /// from `next` on per `unroll` steps of k; or if it fetches its own, for a B
  /// that is read by this tile alone, what comes behind in B itself. Then it
  /// may go on with sums that lie in `partial`.
  mlir::LLVM::LLVMFuncOp functionOf(int64_t height, Fetch fetch);

  /// The bytes per `unroll` steps that a share may be.
  static constexpr int64_t bytesOf(Fetch fetch) {
    return linesOf(fetch) * cacheLine;
  }

protected:
  using Values = llvm::SmallVector<Value>;

  bool isWidened() const {
    return kind == StripKind::Widened || kind == StripKind::WidenedAndKept;
  }
  mlir::Type i1() { return b.getI1Type(); }
  Value element(Value base, mlir::LLVM::GEPArg offset) {
    return address(base, each, offset);
  }

  StripKind kind;
  bool interleaved;
  TileShape shape;
  std::string suffix; // Of the functions' names.
  mlir::Type each;    // Of the sums, and of A.
  mlir::Type ofRhs;   // Elements of B.
  bool resumes;
  /// Stores between steps would have all their factors loaded before; and of
  /// products of words LLVM adds up those of two steps first, in more registers
  /// than there are.
  bool stepsAreApart;

private:
  static constexpr int64_t cacheLine = 64;
  static constexpr int64_t linesOf(Fetch fetch) {
    return fetch == Fetch::MuchOfNext ? 4 : 2;
  }

  bool isF16() const {
    return kind == StripKind::F16 || kind == StripKind::F16AndKept;
  }
  Value loadVector(Value base, int64_t offset);
  Value loadColumns(Value line, int64_t offset);
  void prefetch(Value at);
  template <typename Body> void forEach(int64_t height, Body body);
  void storeSums(llvm::ArrayRef<Value> out, llvm::ArrayRef<Value> c,
                 Value accumulate, mlir::ValueRange sums);
  Values step(llvm::ArrayRef<Value> rows, Value base, Value kept, Value k,
              int64_t count, mlir::ValueRange before, bool fetches);
  Values singleSteps(llvm::ArrayRef<Value> rows, Value base, Value kept,
                     Value from, Value to, mlir::ValueRange before,
                     bool fetches);
  void keep(llvm::ArrayRef<Value> columns, Value line, int64_t row);
  Value factorFrom(Value place);
  void addWidened(Value low, Value high, llvm::ArrayRef<Value> columns,
                  llvm::MutableArrayRef<Value> sums);
  void addProducts(size_t height, llvm::function_ref<Value(size_t)> factorAt,
                   llvm::ArrayRef<Value> columns,
                   llvm::MutableArrayRef<Value> sums);
  void fetchSums(llvm::ArrayRef<Value> rows);
  void fetchAhead(Value line, int64_t u);
  Values sumsOr(llvm::ArrayRef<Value> rows, Value isThere,
                mlir::ValueRange others);
  mlir::LLVM::LLVMFuncOp write(llvm::StringRef name, int64_t height,
                               Fetch fetch);

  mlir::VectorType vector;
  StripProducts products;
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_VECTORTILE_H
