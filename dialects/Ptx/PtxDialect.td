//===- PtxDialect.td - What all ops of the dialect share -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_DIALECTS_PTX_PTXDIALECT_TD
#define TENON_DIALECTS_PTX_PTXDIALECT_TD

include "dialects/Ptx/PtxEnums.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/CommonTypeConstraints.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Ptx_Dialect : Dialect {
  let name = "ptx";
  let cppNamespace = "::tenon::ptx";
  let summary = "Instructions of NVIDIA GPUs, tied to the values they touch";
  let description = [{
    Each op is one PTX instruction, or one idiom of a few. What an instruction
    reads and writes in registers are its operands and results, also where the
    hardware is still writing them: nothing can then be moved across a wait.

    Fragments are vectors of a thread's registers: `vector<4xi32>` of an operand
    of matrices, `vector<4xf32>` of sums. Addresses are LLVM pointers: to shared
    memory `!llvm.ptr<3>`, to global memory `!llvm.ptr<1>`.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

class Ptx_Op<string mnemonic, list<Trait> traits = []>
    : Op<Ptx_Dialect, mnemonic, traits>;

class Ptx_Pointer<int space, string where> : Type<
    CPred<"::mlir::isa<::mlir::LLVM::LLVMPointerType>($_self) && "
          "::mlir::cast<::mlir::LLVM::LLVMPointerType>($_self)"
          ".getAddressSpace() == " # space>,
    "a pointer to " # where, "::mlir::LLVM::LLVMPointerType">;
def Ptx_Shared : Ptx_Pointer<3, "shared memory, !llvm.ptr<3>">;
def Ptx_Global : Ptx_Pointer<1, "global memory, !llvm.ptr<1>">;
def Ptx_Map : Ptx_Pointer<0, "a tensor map, !llvm.ptr">;

/// Registers of 32 bits.
class Ptx_Words<list<int> counts>
    : FixedVectorOfLengthAndType<counts, [I32]>;
/// What a thread holds of a tile of sums.
def Ptx_Sums : FixedVectorOfRankAndType<[1], [F32, I32]>;

def Ptx_MmaAttr : EnumAttr<Ptx_Dialect, Ptx_Mma, "mma">;
def Ptx_WgmmaAttr : EnumAttr<Ptx_Dialect, Ptx_Wgmma, "wgmma">;
def Ptx_CacheAttr : EnumAttr<Ptx_Dialect, Ptx_Cache, "cache">;
def Ptx_SwizzleAttr : EnumAttr<Ptx_Dialect, Ptx_Swizzle, "swizzle">;

#endif // TENON_DIALECTS_PTX_PTXDIALECT_TD
