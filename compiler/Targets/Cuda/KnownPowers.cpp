//===- KnownPowers.cpp - What numbers are known to be multiples of --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vectors in memory are accessed whole where their addresses are known to be
// aligned: from the sizes of tensors and where threads and loops begin.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cuda/DeviceEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tenon::cuda {
namespace {

/// As good as any; larger ones are of no use.
constexpr int64_t enough = 1024;

/// How far expressions are followed.
constexpr unsigned deepest = 16;

int64_t powerOf(int64_t number) {
  return number == 0 ? enough : std::min(number & -number, enough);
}

} // namespace

void DeviceEmitter::whereMultiple(Value number, int64_t power,
                                  function_ref<void()> body) {
  ifThen(equal(rem(number, this->number(power)), this->number(0)), [&] {
    multiples.push_back({number, power});
    body();
    multiples.pop_back();
  });
}

int64_t DeviceEmitter::knownPower(Value number, unsigned depth) {
  for (auto [known, power] : multiples)
    if (known == number)
      return power;
  if (std::optional<int64_t> constant = getConstantIntValue(number))
    return powerOf(*constant);
  if (depth > deepest)
    return 1;
  auto of = [&](Value operand) { return knownPower(operand, depth + 1); };
  if (auto argument = dyn_cast<BlockArgument>(number)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || loop.getInductionVar() != number)
      return 1;
    return std::min(of(loop.getLowerBound()), of(loop.getStep()));
  }
  Operation *op = number.getDefiningOp();
  if (isa<arith::MulIOp>(op))
    return std::min(of(op->getOperand(0)) * of(op->getOperand(1)), enough);
  if (isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp,
          arith::RemUIOp>(op))
    return std::min(of(op->getOperand(0)), of(op->getOperand(1)));
  if (isa<arith::SelectOp>(op))
    return std::min(of(op->getOperand(1)), of(op->getOperand(2)));
  return 1;
}

int64_t DeviceEmitter::laneAlignment(Value base, Type element, Value offset) {
  constexpr int64_t widest = 16;
  int64_t bytes = graph::byteWidth(element);
  // Buffers begin at multiples of more than that.
  if (!llvm::is_contained(buffers, base))
    return bytes;
  return std::min(widest, bytes * knownPower(offset));
}

} // namespace tenon::cuda
