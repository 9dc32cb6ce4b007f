//===- DeviceAttention.cpp - How devices cut an attention into tiles ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/DeviceAttention.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tenon::kernel {
namespace {

constexpr int64_t narrowestHead = 8, widestDeviceHead = 256;
/// Heads are padded to whole steps of a product.
constexpr int64_t headStep = 16;
/// Keys that make one more piece worth joining, and how many pieces there may
/// be for each of the units of which there are too few.
constexpr int64_t keysOfPiece = 128, piecesForUnit = 4;
/// Rows of a tile where there are few queries: two of a warp.
constexpr int64_t fewRows = 8;
/// Two fragments of each warp read keys and values once; sums over values of
/// wider heads have no room in registers then.
constexpr int64_t tallRows = 128, widestTallHead = 128;

std::optional<int64_t> headSize(Value tensor) {
  std::optional<int64_t> size = graph::getDim(tensor, 3).asConstant();
  if (!size || *size < narrowestHead || *size > widestDeviceHead)
    return std::nullopt;
  return size;
}

/// An operand before it was widened to f32.
Value behindCast(Value operand) {
  Value narrow = behindWidening(operand);
  return narrow ? narrow : operand;
}

/// A cache of f32 that is rounded between the memory and the kernel's products.
Value behindRounding(Value narrow) {
  auto cast = narrow.getDefiningOp<graph::CastOp>();
  bool isRounding = cast && graph::getElementType(cast.getInput()).isF32();
  return isRounding ? cast.getInput() : narrow;
}

/// Of chunks of 16 bytes an odd number, so that those of eight rows at the same
/// place are in all banks.
int64_t oddChunks(int64_t bytes) { return (bytes / 16 | 1) * 16; }

/// Tiles that leave room for two blocks in the least shared memory that a
/// multiprocessor has, or for one of wide heads.
void chooseTile(DeviceAttention &view, StringRef schedule) {
  int64_t head = std::max(view.depth, view.width);
  if (schedule == attentionRowsSchedule) {
    view.rows = fewRows;
    view.keys = head <= 64 ? 64 : head <= 128 ? 32 : 16;
  } else if (view.isMma) {
    bool isWide = (view.isConverted(view.key) && !view.keyScales) ||
                  (view.isConverted(view.value) && !view.valueScales);
    view.rows = schedule == attentionMmaTallSchedule ? tallRows : 64;
    view.keys = head <= 128 ? 64 : 32;
    if (isWide && head > 64)
      view.keys /= 2;
  } else {
    view.rows = head <= 128 ? 64 : 32;
    view.keys = head <= 128 ? 32 : 16;
  }
}

} // namespace

DeviceOperand deviceOperandOf(graph::AttentionOp op, Value operand) {
  Value narrow = behindCast(operand);
  DeviceOperand result;
  result.memory = narrow;
  result.element = graph::getElementType(narrow);
  if (operand == op.getQuery())
    return result;
  result.memory = behindRounding(narrow);
  result.dequantize = rowsOfBytes(result.memory);
  if (result.dequantize)
    result.memory = result.dequantize.getInput();
  return result;
}

std::optional<DeviceAttention>
deviceAttentionOf(Block &body, StringRef schedule, std::string &why) {
  auto refuse = [&](const char *reason) {
    why = reason;
    return std::nullopt;
  };
  bool isTall = schedule == attentionMmaTallSchedule;
  bool isMma = isTall || schedule == attentionMmaSchedule;
  bool hasFewRows = schedule == attentionRowsSchedule;
  auto op = dyn_cast_if_present<graph::AttentionOp>(findRoot(body));
  if (!op)
    return refuse("its root is no attention");
  std::optional<int64_t> depth = headSize(op.getQuery());
  std::optional<int64_t> width = headSize(op.getValue());
  if (!depth || !width || headSize(op.getKey()) != depth)
    return refuse("the head sizes are no numbers from 8 to 256");
  DeviceAttention view{op,
                       isMma,
                       *graph::getDim(op.getQuery(), 1).asConstant(),
                       *graph::getDim(op.getKey(), 1).asConstant(),
                       *depth,
                       *width,
                       {},
                       {},
                       {},
                       {},
                       {},
                       {},
                       0,
                       0};
  SmallPtrSet<Type, 3> types; // Of what is multiplied.
  for (auto [to, operand] : {std::pair(&view.query, op.getQuery()),
                             std::pair(&view.key, op.getKey()),
                             std::pair(&view.value, op.getValue())}) {
    DeviceOperand stored = deviceOperandOf(op, operand);
    types.insert(stored.element);
    auto &scales = operand == op.getKey() ? view.keyScales : view.valueScales;
    if (const char *reason = seeInMemory(stored, *to, scales))
      return refuse(reason);
  }
  Type element = view.element();
  if (isMma ? !element.isBF16() && !element.isF16() : !element.isF32())
    return refuse(isMma ? "its operands are neither bf16 nor f16"
                        : "its operands are not f32");
  if (types.size() != 1)
    return refuse("its operands are of several types");
  for (Value bias : op.getBiases())
    view.biases.push_back(biasViewOf(op, bias));
  chooseTile(view, schedule);
  if (!view.geometry())
    return refuse("the number of its tiles is beyond what an expression holds");
  if (hasFewRows && (!view.hasFewRows() || view.hasFewRows().isConstant(0)))
    return refuse("it has too many queries to take a few at a time");
  if (isTall && std::max(*depth, *width) > widestTallHead)
    return refuse("its heads are wider than 128");
  if (isTall && (!view.hasManyTiles() || view.hasManyTiles().isConstant(0)))
    return refuse("it has too few queries for tall tiles");
  return view;
}

int64_t DeviceAttention::paddedDepth() const {
  return llvm::alignTo(depth, headStep);
}
int64_t DeviceAttention::paddedWidth() const {
  return llvm::alignTo(width, headStep);
}
int64_t DeviceAttention::depthBytes() const {
  return oddChunks(paddedDepth() * graph::byteWidth(element()));
}
int64_t DeviceAttention::widthBytes() const {
  return oddChunks(paddedWidth() * graph::byteWidth(element()));
}

int64_t DeviceAttention::sumStride() const {
  return paddedWidth() + (isMma ? mmaPadding : simtPadding);
}

int64_t DeviceAttention::weightStride() const {
  // Two neighbouring rows are 16 banks apart.
  return keys % 32 == 0 ? keys + 16 : keys;
}

int64_t DeviceAttention::keyStart() const { return rows * depthBytes(); }
int64_t DeviceAttention::valueStart() const {
  return keyStart() + keys * depthBytes();
}
int64_t DeviceAttention::weightStart() const {
  return valueStart() + keys * widthBytes();
}
int64_t DeviceAttention::statStart() const { return rows * sumStride() * 4; }

int64_t DeviceAttention::stagedStart() const {
  return weightStart() + (isMma ? 0 : rows * weightStride() * 4);
}

int64_t DeviceAttention::stagedBytes() const {
  auto ofRow = [&](const StridedView &operand, int64_t elements) {
    return isConverted(operand)
               ? elements *
                     graph::byteWidth(graph::getElementType(operand.base))
               : 0;
  };
  return keys *
         std::max(ofRow(key, paddedDepth()), ofRow(value, paddedWidth()));
}

int64_t DeviceAttention::sharedBytes() const {
  bool hasScales = keyScales || valueScales;
  int64_t tiles = stagedScaleStart() + (hasScales ? stagedBytes() / 4 : 0);
  // And a word for whether this piece is the last.
  return std::max(tiles, statStart() + rows * 8 + 16);
}

int64_t DeviceAttention::copyBytes(const StridedView &operand) const {
  SmallVector<Expr> steps = {operand.offset};
  llvm::append_range(steps, ArrayRef(operand.strides).drop_back());
  return widestCopy(graph::getElementType(operand.base), steps);
}

Expr DeviceAttention::hasFewRows() const {
  auto number = [&](int64_t value) {
    return Expr::constant(op->getContext(), value);
  };
  Expr list = graph::getDim(op->getOperand(0), 2) * group();
  Expr spare = list ? number(fewRows + 1) - list : list;
  return spare ? spare.max(number(0)).min(number(1)) : spare;
}

Expr DeviceAttention::hasManyTiles() const {
  Expr tiles = units();
  return tiles ? Expr::constant(op->getContext(), 1) - isFew(tiles) : tiles;
}

Expr DeviceAttention::units() const {
  SmallVector<Expr> dims = graph::getDims(op->getOperand(0));
  Expr units = dims[2] * group();
  if (units)
    units = units.ceilDiv(Expr::constant(op->getContext(), rows));
  return units ? units * dims[0] * keyHeads : units;
}

/// Pieces of a unit's keys beyond the first; null where that is too complex.
static Expr morePieces(const DeviceAttention &view) {
  MLIRContext *context = view.op->getContext();
  auto number = [&](int64_t value) { return Expr::constant(context, value); };
  Expr keys = graph::getDim(view.op->getOperand(1), 2), units = view.units();
  keys = keys.floorDiv(number(keysOfPiece)).max(number(1)) - 1;
  if (!keys || keys.isConstant(0))
    return keys;
  // None where there are more units than counts.
  if (units)
    units = number(DeviceAttention::mostCounts - 1).floorDiv(units + 1) *
            piecesForUnit;
  return units ? units.min(keys) : units;
}

/// What the pieces of all units share: enough for two or more of each.
static Expr bytesOfPieces(const DeviceAttention &view) {
  Expr more = morePieces(view), units = view.units();
  if (units)
    units = units * (2 * view.pieceBytes());
  Expr bytes = more && units ? more * units : Expr();
  return bytes ? bytes + DeviceAttention::piecesStart : bytes;
}

Expr DeviceAttention::pieces() const {
  Expr more = morePieces(*this), all = units();
  if (more && all && all * (more + 1) && bytesOfPieces(*this))
    return more + 1;
  return Expr::constant(op->getContext(), 1);
}

Geometry DeviceAttention::geometry() const {
  auto number = [&](int64_t value) {
    return Expr::constant(op->getContext(), value);
  };
  Expr launchRows = units(), cut = pieces();
  if (launchRows)
    launchRows = launchRows * cut;
  Geometry result{launchRows, number(1), number(0), {}};
  if (!cut.isConstant(1))
    result.shared = bytesOfPieces(*this);
  return result;
}

DeviceTile DeviceAttention::tile() const {
  return {rows, keys, paddedDepth(), 1, warps * 32, sharedBytes()};
}

} // namespace tenon::kernel
