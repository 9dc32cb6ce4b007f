//===- ExecEnums.td - Enumerations of the Exec dialect ---*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_DIALECTS_EXEC_EXECENUMS_TD
#define TENON_DIALECTS_EXEC_EXECENUMS_TD

include "mlir/IR/EnumAttr.td"

def Exec_Place : I32EnumAttr<"Place", "Where a buffer lies", [
    I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Input", 1, "input">,
    I32EnumAttrCase<"Output", 2, "output">,
    I32EnumAttrCase<"Arena", 3, "arena">,
    I32EnumAttrCase<"Weights", 4, "weights">]> {
  let cppNamespace = "::tenon::exec";
  let genSpecializedAttr = 0;
}

#endif // TENON_DIALECTS_EXEC_EXECENUMS_TD
