//===- ExecDialect.cpp - Registration -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Exec/Exec.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "dialects/Exec/ExecDialect.cpp.inc"
#include "dialects/Exec/ExecEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Exec/ExecAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Exec/ExecOps.cpp.inc"

namespace tenon::exec {

void ExecDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Exec/ExecAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Exec/ExecOps.cpp.inc"
      >();
}

llvm::SmallVector<BufferAttr> packedWeightsOf(LaunchOp launch,
                                              llvm::StringRef rows) {
  llvm::SmallVector<BufferAttr> weights;
  llvm::SmallDenseSet<mlir::Attribute> seen;
  auto picked = launch->getAttrOfType<mlir::IntegerAttr>("picked");
  for (auto [i, buffer] :
       llvm::enumerate(launch.getBuffers().getAsRange<BufferAttr>())) {
    llvm::StringRef layout = buffer.getLayout().getValue();
    bool isPacked = buffer.getPlace() == Place::Weights && !layout.empty() &&
                    layout != rows && seen.insert(buffer).second;
    if (isPacked && !(picked && picked.getInt() == int64_t(i)))
      weights.push_back(buffer);
  }
  return weights;
}

} // namespace tenon::exec
