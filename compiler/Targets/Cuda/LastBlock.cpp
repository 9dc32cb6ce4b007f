//===- LastBlock.cpp - The last of several blocks joins what all did ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cuda/LastBlock.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cuda {

/// PTX orders what a fence's own thread does, and through barriers what its
/// block did: so both fences are of the thread that counts.
Value isLastBlock(DeviceEmitter &e, Value counter, Value blocks, Value thread,
                  Value flag) {
  Type i32 = e.b.getI32Type();
  auto fence = [&] {
    LLVM::FenceOp::create(e.b, LLVM::AtomicOrdering::acq_rel, "device");
  };
  Value final = arith::TruncIOp::create(e.b, i32, e.sub(blocks, e.number(1)));
  e.barrier();
  e.ifThen(e.equal(thread, e.number(0)), [&] {
    fence();
    Value before = LLVM::AtomicRMWOp::create(
        e.b, LLVM::AtomicBinOp::uinc_wrap, counter, final,
        LLVM::AtomicOrdering::monotonic, "device");
    fence();
    LLVM::StoreOp::create(e.b, before, flag);
  });
  e.barrier();
  Value before = LLVM::LoadOp::create(e.b, i32, flag);
  return arith::CmpIOp::create(e.b, arith::CmpIPredicate::eq, before, final);
}

} // namespace tenon::cuda
