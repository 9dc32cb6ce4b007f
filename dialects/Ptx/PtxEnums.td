//===- PtxEnums.td - Enumerations of the Ptx dialect -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_DIALECTS_PTX_PTXENUMS_TD
#define TENON_DIALECTS_PTX_PTXENUMS_TD

include "mlir/IR/EnumAttr.td"

class Ptx_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::tenon::ptx";
  let genSpecializedAttr = 0;
}

def Ptx_Mma : Ptx_Enum<"Mma", "Element types of lhs and rhs of ptx.mma", [
    I32EnumAttrCase<"F16", 0, "f16">, I32EnumAttrCase<"BF16", 1, "bf16">,
    I32EnumAttrCase<"TF32", 2, "tf32">, I32EnumAttrCase<"S8", 3, "s8">,
    I32EnumAttrCase<"U8", 4, "u8">, I32EnumAttrCase<"S8U8", 5, "s8_u8">,
    I32EnumAttrCase<"U8S8", 6, "u8_s8">]>;

def Ptx_Wgmma : Ptx_Enum<"Wgmma", "Element type of the operands of ptx.wgmma.mma", [
    I32EnumAttrCase<"F16", 0, "f16">, I32EnumAttrCase<"BF16", 1, "bf16">,
    I32EnumAttrCase<"TF32", 2, "tf32">, I32EnumAttrCase<"E4M3", 3, "e4m3">,
    I32EnumAttrCase<"E5M2", 4, "e5m2">, I32EnumAttrCase<"S8", 5, "s8">,
    I32EnumAttrCase<"U8", 6, "u8">]>;

def Ptx_Cache : Ptx_Enum<"Cache", "Levels of the cache that a copy goes through", [
    I32EnumAttrCase<"CA", 0, "ca">, I32EnumAttrCase<"CG", 1, "cg">]>;

def Ptx_Swizzle : Ptx_Enum<"Swizzle", "How rows of a tile lie in shared memory", [
    I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Bytes128", 1, "swizzle128">,
    I32EnumAttrCase<"Bytes64", 2, "swizzle64">, I32EnumAttrCase<"Bytes32", 3, "swizzle32">]>;

#endif // TENON_DIALECTS_PTX_PTXENUMS_TD
