//===- QuadSums.cpp - Sums of products of bytes in a convolution ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/QuadSums.h"
#include "compiler/Targets/Cpu/QuadPanel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cpu {

Value zeroPointQuad(Emitter &e, const kernel::IntegerFactor &image) {
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(e.b, e.b.getI32Type(), value);
  };
  if (!image.zero)
    return number(0);
  Indices index(graph::getRank(image.zero), e.number(0));
  Value byte =
      arith::AndIOp::create(e.b, e.element(image.zero, index), number(0xff));
  return arith::MulIOp::create(e.b, byte, number(0x01010101));
}

Value flippedToUnsigned(Emitter &e, Value bytes) {
  auto type = cast<VectorType>(bytes.getType());
  unsigned width = type.getElementTypeBitWidth();
  APInt signs = APInt::getSplat(width, APInt(8, 0x80));
  return arith::XOrIOp::create(
      e.b, bytes,
      arith::ConstantOp::create(e.b, DenseElementsAttr::get(type, signs)));
}

QuadSums::QuadSums(Emitter &e, graph::ConvOp op, const kernel::ConvDepth &depth,
                   int64_t groupRows)
    : e(e), op(op), view(*kernel::integerConvViewOf(op)), i32(e.b.getI32Type()),
      window(depth.depth() * kernel::quadSteps) {
  int64_t shift = view.input.isSigned() ? 128 : 0;
  if (Value zero = view.input.zero)
    imageZero = e.atEntry([&]() -> Value {
      Indices index(graph::getRank(zero), e.number(0));
      return arith::AddIOp::create(e.b, e.element(zero, index),
                                   i32Number(shift));
    });
  else if (shift)
    imageZero = i32Number(shift);
  if (view.needsRowSums())
    rowSums = e.atEntry([&]() -> Value {
      return LLVM::AllocaOp::create(
          e.b, LLVM::LLVMPointerType::get(e.b.getContext()), i32,
          e.number(groupRows), 64);
    });
}

Value QuadSums::i32Number(int64_t value) {
  return arith::ConstantIntOp::create(e.b, i32, value);
}

void QuadSums::sumRows(Value from, Value stride, Value rows, Value steps,
                       Value more) {
  Value bytes = e.mul(steps, e.number(kernel::quadSteps));
  e.loop(e.number(0), rows, [&](Value row) {
    Value line = e.address(from, i32, e.mul(row, stride));
    Value sum = sumOfBytes(e, line, bytes);
    Value before = arith::SelectOp::create(
        e.b, more, e.loadRaw(rowSums, i32, row), i32Number(0));
    e.storeRaw(arith::AddIOp::create(e.b, before, sum), rowSums, row);
  });
}

Value QuadSums::filterZero(Value map) {
  Value shift = view.filter.isSigned() ? Value() : i32Number(-128);
  Value zero = view.filter.zero;
  if (!zero)
    return shift;
  Indices index(graph::getRank(op.getFilter()), e.number(0));
  index[0] = map;
  Value own = e.element(
      zero, e.broadcastIndex(index, graph::getDims(op.getFilter()), zero));
  return shift ? Value(arith::AddIOp::create(e.b, own, shift)) : own;
}

void QuadSums::storeRow(const PanelRow &row, Value inGroup, Value mapSums) {
  auto times = [&](Value x, Value y) {
    return arith::MulIOp::create(e.b, x, y);
  };
  Value rest; // sum a - K y
  if (rowSums) {
    rest = e.loadRaw(rowSums, i32, inGroup);
    if (imageZero)
      rest =
          arith::SubIOp::create(e.b, rest, times(imageZero, i32Number(window)));
  }
  forEachElement(
      e, op.getResult(), row.width, [&](Value i, const RowElements &elements) {
        Value sum = elements.load(row.sums, i32, e.add(row.waits, i));
        Value map = e.add(row.column, i);
        if (imageZero)
          sum = arith::SubIOp::create(
              e.b, sum,
              times(elements.all(imageZero), elements.load(mapSums, i32, i)));
        if (rest)
          sum = arith::SubIOp::create(
              e.b, sum,
              times(elements.all(filterZero(map)), elements.all(rest)));
        storeElements(e, op.getResult(), row.lead, map, sum,
                      e.add(row.position, i));
      });
}

} // namespace tenon::cpu
