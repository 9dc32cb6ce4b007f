//===- StridedView.h - Tensors that are a view of memory ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exporters write attention between transposes and reshapes. Where those only
// rename positions, a kernel reads its operand, or writes its result, through
// them: an offset and a stride per axis instead of a copy.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_STRIDEDVIEW_H
#define TENON_DIALECTS_KERNEL_STRIDEDVIEW_H

#include "dialects/Kernel/Kernel.h"

namespace tenon::kernel {

/// How a tensor lies in the row-major memory of `base`, in elements: element
/// (i, j, ..) is at offset + i * strides[0] + j * strides[1] + ..
struct StridedView {
  mlir::Value base;
  Expr offset;
  llvm::SmallVector<Expr> strides; // 0 along axes that only repeat.

  /// The type of the memory's elements.
  mlir::Type element() const { return graph::getElementType(base); }
};

/// Whether an op may stand between a view and its base: transposes, reshapes,
/// slices, windows and broadcasts.
bool isViewOp(mlir::Operation *op);

/// `value` seen through such ops, as far as that goes: at the end its base is
/// `value` itself. A reshape that merges axes which do not lie one behind the
/// other ends the walk. nullopt when not even the value's own strides can be
/// expressed.
std::optional<StridedView> stridedViewOf(mlir::Value value);

/// The same as far as a view `suits`.
std::optional<StridedView>
farthestView(mlir::Value value,
             llvm::function_ref<bool(const StridedView &)> suits);

/// The same only as far as elements of the last axis lie one behind the other.
std::optional<StridedView> rowViewOf(mlir::Value value);

/// The ops between a value and the base of its view, the value's own first.
llvm::SmallVector<mlir::Operation *> viewOpsOf(mlir::Value value,
                                               const StridedView &view);

/// The strides of the axes of `value` in the row-major memory of `yielded`,
/// which is `value` behind transposes and reshapes of elements that all stay;
/// nullopt when something else lies between.
std::optional<llvm::SmallVector<Expr>> stridesInside(mlir::Value value,
                                                     mlir::Value yielded);

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_STRIDEDVIEW_H
