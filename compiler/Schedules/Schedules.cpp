//===- Schedules.cpp - The table of schedules -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedules/Schedules.h"
#include "compiler/Schedules/AttentionDeviceSchedules.h"
#include "compiler/Schedules/ConvDeviceSchedules.h"
#include "compiler/Schedules/ConvSchedules.h"
#include "compiler/Schedules/DeviceSchedules.h"
#include "compiler/Schedules/FewRowsSchedule.h"
#include "compiler/Schedules/IntegerSchedules.h"
#include "compiler/Schedules/MemorySchedules.h"
#include "compiler/Schedules/RowSchedules.h"
#include "dialects/Kernel/AttentionView.h"
#include "dialects/Kernel/FineUnits.h"
#include "dialects/Kernel/MatmulView.h"
#include "dialects/Kernel/Packing.h"
#include "dialects/Kernel/QuantizedRhs.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;

SmallVector<std::string> rowMajor(const KernelView &view) {
  return SmallVector<std::string>(view.body.getNumArguments());
}

//===--- Targets and roots ---===//

bool isOnCpu(Target target) { return target == Target::Cpu; }
bool isOnCuda(Target target) { return target == Target::Cuda; }
bool isOnAny(Target) { return true; }

bool isRootAttention(Operation *root) { return isa<graph::AttentionOp>(root); }
bool isRootIntegerConv(Operation *root) {
  return isa<graph::ConvOp>(root) &&
         graph::getElementType(root->getResult(0)).isSignlessInteger(32);
}
bool isRootConv(Operation *root) {
  return isa<graph::ConvOp>(root) && !isRootIntegerConv(root);
}
bool isRootIntegerMatmul(Operation *root) {
  return isa<graph::MatmulOp>(root) &&
         graph::getElementType(root->getResult(0)).isSignlessInteger(32);
}
bool isRootLinearAttention(Operation *root) {
  return isa<graph::LinearAttentionOp>(root);
}
bool isRootMatmul(Operation *root) {
  return isa<graph::MatmulOp>(root) && !isRootIntegerMatmul(root);
}
bool isRootNonzero(Operation *root) { return isa<graph::NonzeroOp>(root); }
bool isRootPool(Operation *root) {
  return isa<graph::AveragePoolOp, graph::MaxPoolOp>(root);
}
bool isRootRecurrent(Operation *root) { return isa<graph::RecurrentOp>(root); }
bool isRootResize(Operation *root) { return isa<graph::ResizeOp>(root); }
bool isRootRow(Operation *root) {
  return isa<graph::ArgReduceOp, graph::CumulativeOp, graph::LayerNormOp,
             graph::LogSoftmaxOp, graph::QuantizeRowsOp, graph::ReduceOp,
             graph::RmsNormOp, graph::SoftmaxOp>(root);
}
bool isRootScan(Operation *root) { return isa<graph::CumulativeOp>(root); }
bool isRootScatter(Operation *root) {
  return isa<graph::ScatterElementsOp, graph::ScatterNdOp>(root);
}
bool isRootTopk(Operation *root) { return isa<graph::TopkOp>(root); }
bool isRootAny(Operation *) { return true; }
bool isRootNone(Operation *) { return false; }

//===--- Generic ---===//

std::optional<std::string> refusalGeneric(const KernelView &) {
  return std::nullopt;
}
kernel::Geometry geometryGeneric(const KernelView &view) {
  return view.target == Target::Cpu ? kernel::geometryOf(view.body)
                                    : kernel::deviceGeometryOf(view.body);
}
SmallVector<std::string> layoutsGeneric(const KernelView &view) {
  return rowMajor(view);
}

//===--- Matmuls by panels of columns ---===//

/// Whether an op behind the root only renames what is yielded.
bool isTailReshape(Operation *op) {
  return isa<graph::ReshapeOp>(op) &&
         llvm::all_of(op->getUsers(), [](Operation *user) {
           return isa<kernel::YieldOp, graph::ReshapeOp>(user);
         });
}

/// Whether an op is a half of the root's columns.
bool isHalf(Operation *op, const kernel::MatmulView &view) {
  return view.halves && (op == view.halves->low || op == view.halves->high);
}

} // namespace

std::optional<std::string> refusalOfTiles(const KernelView &view) {
  auto matmul =
      dyn_cast_if_present<graph::MatmulOp>(kernel::findRoot(view.body));
  if (!matmul)
    return "its root is no matmul";
  std::optional<kernel::MatmulView> sizes = kernel::matmulViewOf(matmul);
  if (!sizes)
    return "an operand of the matmul is computed in the kernel";
  // Behind the root, every op runs on the tile that was just stored.
  llvm::SmallPtrSet<Operation *, 8> behind = {matmul};
  for (Operation &op : view.body.without_terminator()) {
    if (!llvm::any_of(op.getOperands(), [&](Value operand) {
          return behind.contains(operand.getDefiningOp());
        }))
      continue;
    if (kernel::roleOf(&op) == kernel::Role::Movement && !isTailReshape(&op) &&
        !isHalf(&op, *sizes) && &op != sizes->turn)
      return "it moves data behind the matmul";
    behind.insert(&op);
  }
  return std::nullopt;
}

namespace {

/// Why a kernel cannot run over the panels of a matmul.
std::optional<std::string> refusalOfPanels(const KernelView &view) {
  auto matmul =
      dyn_cast_if_present<graph::MatmulOp>(kernel::findRoot(view.body));
  if (matmul && !graph::getElementType(matmul.getLhs()).isF32())
    return "its operands are not f32";
  if (std::optional<std::string> why = refusalOfTiles(view))
    return why;
  if (view.body.getTerminator()->getNumOperands() != 1)
    return "it has several results";
  return std::nullopt;
}

/// Units of a product that are worth a thread's while: some microseconds.
Expr unitsOfPiece(graph::MatmulOp matmul, const kernel::MatmulView &view,
                  kernel::UnitSize size) {
  constexpr int64_t pieceProducts = 200000;
  auto number = [&](int64_t value) {
    return Expr::constant(matmul.getContext(), value);
  };
  Expr products =
      view.rows.min(number(size.rows)) * view.columns.min(number(size.columns));
  // Beyond all numbers: one unit is enough.
  if (!products || !(products = products * view.depth))
    return number(1);
  return number(pieceProducts).ceilDiv(products.max(number(1)));
}

/// Units of work, and how many a piece should have: the panels of a piece share
/// what it reads of lhs, or its copy: as many as leave some eight pieces,
/// within bounds. A copy is for all of a group's panels where there are pieces
/// enough. Where that leaves few, four threads get one if it is worth it, or
/// two where each piece makes a copy.
kernel::Geometry geometryOfPanels(graph::MatmulOp matmul, int64_t scratch,
                                  bool isFine,
                                  int64_t groupBlocks = kernel::groupBlocks) {
  std::optional<kernel::MatmulView> view = kernel::matmulViewOf(matmul);
  if (view->halves || view->skipped || kernel::sumsWait(matmul))
    scratch += kernel::pairBytes(view->depth.asConstant());
  MLIRContext *context = matmul.getContext();
  auto number = [&](int64_t value) { return Expr::constant(context, value); };
  Expr blocks = view->rows.ceilDiv(number(kernel::blockRows));
  Expr panels = view->columns.ceilDiv(number(kernel::panelColumns));
  int64_t fewest = view->mayAddF16 ? 16 : view->mayCopyLhs() ? 8 : 4;
  Expr wanted = panels.floorDiv(number(8)).max(number(fewest)).min(number(16));
  if (view->mayCopyLhs())
    wanted = wanted.max((blocks.floorDiv(number(8)) * panels).min(panels));
  if (groupBlocks > kernel::groupBlocks)
    wanted = panels.floorDiv(number(2)).max(number(fewest)).min(number(32));
  kernel::FineUnits fine(view->rows, view->columns);
  Expr grain =
      isFine ? fine.ofPanels(wanted) : blocks.min(number(groupBlocks)) * wanted;
  Expr units = isFine ? fine.all() : blocks * panels;
  Expr batches = graph::product(context, view->batchDims);
  if (!grain || !units || !batches || !(units = units * batches))
    return {};
  Expr share = units.ceilDiv(number(view->mayCopyLhs() ? 2 : 4));
  grain = grain.min(share.max(unitsOfPiece(
      matmul, *view, isFine ? kernel::fineUnit : kernel::blockUnit)));
  return {units, grain, number(scratch)};
}

//===--- PackedMatmul ---===//

/// Whether rhs has three axes, the first of which is that of all batches.
bool isMatrixPerBatch(graph::MatmulOp matmul) {
  std::optional<kernel::MatmulView> view = kernel::matmulViewOf(matmul);
  return view && !view->halves && view->batchDims.size() == 1 &&
         graph::getRank(matmul.getRhs()) == 3 &&
         graph::getDims(matmul.getRhs())[0] == view->batchDims[0];
}

/// The weight itself, of f32, bf16 or f16, or a quantized one's numbers.
Value packedOperand(graph::MatmulOp matmul) {
  Value matrices = kernel::matricesOf(matmul);
  if (auto quantized = kernel::quantizedRhsOf(matrices))
    return quantized->numbers;
  Value narrow = kernel::behindWidening(matrices);
  return narrow ? narrow : matrices;
}

/// Of a product by a quantized weight.
std::optional<std::string> refusalOfBlocks(const KernelView &view,
                                           const kernel::QuantizedRhs &rhs) {
  int64_t depth = rhs.blockDepth(rhs.blocks * rhs.block);
  if (rhs.blocks > 1 && (rhs.block % 16 != 0 || depth > kernel::maxDepthAtOnce))
    return "blocks of so many steps of k do not fit those of the kernel";
  if (rhs.batches > 1 && rhs.bits == 4 &&
      rhs.blocks * rhs.block % kernel::stepsOfWord != 0)
    return "words of numbers reach from one matrix to the next";
  for (Value part : {rhs.scales, rhs.zeros}) {
    auto argument = dyn_cast_if_present<BlockArgument>(part);
    if (part && (!argument || !view.isWeight[argument.getArgNumber()] ||
                 !argument.hasOneUse()))
      return "a scale or zero point is no weight of its own";
  }
  return std::nullopt;
}

std::optional<std::string> refusalPackedMatmul(const KernelView &view) {
  if (std::optional<std::string> why = refusalOfPanels(view))
    return why;
  auto matmul = cast<graph::MatmulOp>(kernel::findRoot(view.body));
  auto rhs = dyn_cast<BlockArgument>(packedOperand(matmul));
  if (!rhs || !view.isWeight[rhs.getArgNumber()])
    return "rhs is no weight";
  kernel::MatmulView sizes = *kernel::matmulViewOf(matmul);
  if (sizes.hasHalfLhs() && !sizes.hasPairs() && !sizes.quantized)
    return "only lhs is bf16";
  if (sizes.hasHalfLhs() && !sizes.lhsDepthStride().isConstant(1))
    return "rows of lhs, a bf16, are not contiguous";
  if (sizes.hasPairs() && sizes.depth.asConstant().value_or(1) % 2 != 0)
    return "k is odd, and pairs of its steps lie together";
  auto type = cast<RankedTensorType>(rhs.getType());
  if (!type.hasStaticShape())
    return "rhs has a size that is no number";
  if (graph::getRank(matmul.getRhs()) != 2 && !isMatrixPerBatch(matmul))
    return "rhs is neither one matrix nor one for each batch";
  if (type.getNumElements() == 0)
    return "rhs is empty";
  if (!rhs.hasOneUse())
    return "rhs has another user in the kernel";
  return sizes.quantized ? refusalOfBlocks(view, *sizes.quantized)
                         : std::nullopt;
}

kernel::Geometry geometryPackedMatmul(const KernelView &view) {
  auto matmul = cast<graph::MatmulOp>(kernel::findRoot(view.body));
  std::optional<kernel::MatmulView> sizes = kernel::matmulViewOf(matmul);
  std::optional<int64_t> depth =
      kernel::scratchDepth(sizes->quantized, sizes->depth.asConstant());
  int64_t scratch = sizes->lhsScratchBytes(depth);
  if (sizes->hasPairs() || sizes->hasF16Rhs() || sizes->quantized)
    scratch += sizes->panelScratchBytes(depth, /*comesPacked=*/true) *
               (sizes->halves ? 2 : 1);
  return geometryOfPanels(matmul, scratch, /*isFine=*/!sizes->skipped);
}

SmallVector<std::string> layoutsPackedMatmul(const KernelView &view) {
  SmallVector<std::string> layouts = rowMajor(view);
  auto matmul = cast<graph::MatmulOp>(kernel::findRoot(view.body));
  std::string behind = kernel::columnHalvesOf(matmul) ? "_halves" : "";
  auto set = [&](Value operand, StringRef layout) {
    layouts[cast<BlockArgument>(operand).getArgNumber()] =
        layout.str() + behind;
  };
  auto quantized = kernel::quantizedRhsOf(kernel::matricesOf(matmul));
  if (!quantized) {
    set(packedOperand(matmul), kernel::packedLayout);
    return layouts;
  }
  set(quantized->numbers,
      quantized->bits == 4 ? kernel::nibblesLayout : kernel::linesLayout);
  set(quantized->scales, kernel::linesLayout);
  if (quantized->zeros)
    set(quantized->zeros, kernel::linesLayout);
  return layouts;
}

//===--- BatchedMatmul ---===//

std::optional<std::string> refusalBatchedMatmul(const KernelView &view) {
  if (std::optional<std::string> why = refusalOfPanels(view))
    return why;
  auto matmul = cast<graph::MatmulOp>(kernel::findRoot(view.body));
  kernel::MatmulView sizes = *kernel::matmulViewOf(matmul);
  if (sizes.hasF16Rhs())
    return "rhs is f16";
  if (sizes.hasHalfLhs() != sizes.hasPairs())
    return "only one operand is bf16";
  if (sizes.hasPairs() && !sizes.lhsDepthStride().isConstant(1))
    return "rows of lhs, a bf16, are not contiguous";
  if (sizes.hasPairs() && !kernel::canPackPairs(sizes.rhs))
    return "neither columns nor pairs of rhs, a bf16, lie together";
  if (sizes.hasPairs() && sizes.depth.asConstant().value_or(1) % 2 != 0)
    return "k is odd, and pairs of its steps lie together";
  if (sizes.quantized)
    return "rhs is quantized";
  return std::nullopt;
}

kernel::Geometry geometryBatchedMatmul(const KernelView &view) {
  auto matmul = cast<graph::MatmulOp>(kernel::findRoot(view.body));
  std::optional<kernel::MatmulView> sizes = kernel::matmulViewOf(matmul);
  std::optional<int64_t> depth = sizes->depth.asConstant();
  auto number = [&](int64_t value) {
    return Expr::constant(matmul.getContext(), value);
  };
  Expr blocks = sizes->rows.ceilDiv(number(kernel::blockRows));
  Expr panels = sizes->columns.ceilDiv(number(kernel::panelColumns));
  int64_t groupBlocks = kernel::blocksOfGroup(matmul, *sizes);
  int64_t scratch = sizes->streamsRhs() ? 0 : sizes->lhsScratchBytes(depth);
  Expr places = number(sizes->halves ? 2 : 1);
  if (groupBlocks > kernel::groupBlocks) {
    scratch += kernel::tallSumsBytes(depth);
    if (blocks.asConstant().value_or(groupBlocks) > kernel::groupBlocks)
      places = panels.min(number(kernel::chunkPanels));
  }
  kernel::Geometry geometry =
      geometryOfPanels(matmul, scratch, /*isFine=*/false, groupBlocks);
  if (!geometry || !panels)
    return {};
  geometry.scratch =
      geometry.scratch +
      places * number(sizes->panelScratchBytes(depth, /*comesPacked=*/false));
  // Small products: whole batches, as many as are worth a thread's while.
  Expr group = blocks.min(number(groupBlocks)) * panels;
  if (!group || !geometry.scratch)
    return {};
  geometry.grain = geometry.grain.min(group).max(
      unitsOfPiece(matmul, *sizes, kernel::blockUnit));
  return geometry;
}

SmallVector<std::string> layoutsBatchedMatmul(const KernelView &view) {
  return rowMajor(view);
}

//===--- Attention ---===//

std::optional<std::string> refusalAttention(const KernelView &view) {
  std::string why;
  if (kernel::attentionViewOf(view.body, why))
    return std::nullopt;
  return why;
}
kernel::Geometry geometryAttention(const KernelView &view) {
  std::string why;
  return kernel::attentionViewOf(view.body, why)->geometry();
}
SmallVector<std::string> layoutsAttention(const KernelView &view) {
  return rowMajor(view);
}

} // namespace

ArrayRef<Schedule> schedules() {
  static const Schedule table[] = {
#define SCHEDULE(NAME, ROOT, TARGET, APPLIES)                                  \
  {#NAME,         APPLIES,        isOn##TARGET,  isRoot##ROOT,                 \
   refusal##NAME, geometry##NAME, layouts##NAME, nullptr},
#define SCHEDULE_AT(NAME, ROOT, TARGET, APPLIES)                               \
  {#NAME,         APPLIES,        isOn##TARGET,  isRoot##ROOT,                 \
   refusal##NAME, geometry##NAME, layouts##NAME, when##NAME},
#include "compiler/Schedules/Schedules.def"
  };
  return table;
}

} // namespace tenon
