//===- KernelCheck.h - Each kernel of a run against its specification -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The body of a kernel is graph ops, so the evaluator can run it on what the
// machine code was given. The first launch whose results differ is the culprit.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_KERNELCHECK_H
#define TENON_TOOLS_TENON_KERNELCHECK_H

#include "tools/tenon/Compare.h"

#include "compiler/Reference/Evaluate.h"
#include "dialects/Kernel/Kernel.h"
#include "llvm/ADT/DenseMap.h"

namespace tenon {

enum class KernelsToCheck {
  All,      // to find the first that differs
  Integers, // those that compute with integers only, which must be exact
};

class KernelCheck {
public:
  /// `module` holds the kernel.func of every launch; integers are compared
  /// exactly, floats within `tolerance`.
  /// Operands are on `device`, if it is not null.
  KernelCheck(mlir::ModuleOp module, KernelsToCheck which, double tolerance,
              tenon_device_t *device);

  /// A tenon_observer_t whose user is a KernelCheck.
  static void observe(void *user, const tenon_launch_t *launch);

  /// A sentence on the first kernel that differs; empty when none does.
  const std::string &difference() const { return sentence; }

private:
  void check(const tenon_launch_t &launch);
  void checkResults(kernel::FuncOp function, const tenon_launch_t &launch,
                    const reference::SymbolMap &symbols);
  /// The operand before the launch; nothing when it is not known any more.
  std::optional<Tensor> argument(kernel::FuncOp function, unsigned i,
                                 const tenon_launch_t &launch,
                                 const reference::SymbolMap &symbols);
  void remember(const tenon_operand_t &operand);
  /// The bytes of an operand, copied from the device if they are there.
  const char *read(const tenon_operand_t &operand, TensorBytes &copy);

  llvm::StringMap<kernel::FuncOp> functions;
  KernelsToCheck which;
  double tolerance;
  tenon_device_t *device;
  std::string sentence;
  /// What launches have written, for kernels that write over an operand.
  llvm::DenseMap<void *, TensorBytes> written;
};

} // namespace tenon

#endif // TENON_TOOLS_TENON_KERNELCHECK_H
