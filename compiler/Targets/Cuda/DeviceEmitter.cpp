//===- DeviceEmitter.cpp - Writes one kernel as a function for devices ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cuda/DeviceEmitter.h"
#include "dialects/Kernel/ConvTiles.h"
#include "dialects/Ptx/Ptx.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "runtime/model_format.h"

using namespace mlir;

namespace tenon::cuda {
namespace {

constexpr unsigned globalSpace = 1;

// Of no machine: loops are scalar, and nothing asks for a feature.
const cpu::CpuLevel deviceLevel = {"cuda", "", 0, /*vectorBits=*/0};

unsigned threadsOf(kernel::FuncOp kernel) {
  if (std::optional<kernel::DeviceTile> tile = tileOf(kernel))
    return tile->threads;
  return kernel::deviceThreads(kernel.getBlock());
}

unsigned sharedBytesOf(kernel::FuncOp kernel) {
  std::optional<kernel::DeviceTile> tile = tileOf(kernel);
  return tile ? tile->sharedBytes : 0;
}

} // namespace

DeviceEmitter::DeviceEmitter(kernel::FuncOp kernel, ModuleOp module)
    : Emitter(kernel, deviceLevel, module), threads(threadsOf(kernel)),
      sharedBytes(sharedBytesOf(kernel)),
      share(kernel::deviceRowsOf(kernel.getBlock())),
      weightsFirst(copiesWeights(kernel)) {}

//===----------------------------------------------------------------------===//
// The entry
//===----------------------------------------------------------------------===//

void DeviceEmitter::startFunctions() {
  MLIRContext *context = kernel.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context, globalSpace);
  Type i64 = b.getI64Type();
  unsigned read = kernel.getBlock().getNumArguments();
  unsigned count = read + kernel.getYielded().size();
  unsigned symbolCount = kernel.getSymbols().size();
  SmallVector<Type> inputs(count, pointer);
  inputs.append(symbolCount, i64);
  inputs.append({i64, i64, pointer, i64, pointer, pointer});

  b.setInsertionPointToEnd(module.getBody());
  rowsFunction = LLVM::LLVMFuncOp::create(
      b, kernel.getSymName(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), inputs),
      LLVM::Linkage::External, /*dsoLocal=*/false, LLVM::CConv::PTX_Kernel);
  for (unsigned i = 0; i < count; ++i)
    rowsFunction.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                            b.getUnitAttr());
  for (unsigned i = 0; i < read; ++i)
    rowsFunction.setArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName(),
                            b.getUnitAttr());

  Block *entry = rowsFunction.addEntryBlock(b);
  auto arguments = entry->getArguments();
  llvm::append_range(buffers, arguments.take_front(count));
  llvm::append_range(symbols, arguments.slice(count, symbolCount));
  auto rest = arguments.drop_front(count + symbolCount);
  rows = rest[0], grain = rest[1], scratchStart = rest[2];
  scratchStride = rest[3], sharedStart = rest[4], faultWord = rest[5];
  b.setInsertionPointToStart(entry);
  Value one = arith::ConstantIntOp::create(b, 1, 64);
  faultSlot = LLVM::AllocaOp::create(b, LLVM::LLVMPointerType::get(context),
                                     b.getI32Type(), one);
  thread = special("tid.x");
  block = special("ctaid.x");
  blocks = special("nctaid.x");
  // The launch behind may take what is free from now on.
  ptx::GridLaunchOp::create(b);
  if (!weightsFirst)
    waitForLaunch();
  entryEnd = arith::ConstantIntOp::create(b, 0, 1);
}

void DeviceEmitter::waitForLaunch() { ptx::GridWaitOp::create(b); }

Value DeviceEmitter::special(StringRef name) {
  auto call = LLVM::CallIntrinsicOp::create(
      b, b.getI32Type(),
      b.getStringAttr("llvm.nvvm.read.ptx.sreg." + name.str()), ValueRange());
  return arith::ExtUIOp::create(b, b.getI64Type(), call.getResult(0));
}

void DeviceEmitter::finishFunctions() {
  if (weightsFirst)
    waitForLaunch(); // Also of a block that had no tile.
  LLVM::ReturnOp::create(b, ValueRange());
}

LogicalResult DeviceEmitter::emitRows() {
  LogicalResult result = success();
  // A tile for each piece: less to remember than pieces of tiles.
  if (tileOf(kernel) && kernel.getGeometry()[1].isConstant(1)) {
    loop(block, rows, blocks, [&](Value tile) {
      LLVM::StoreOp::create(b, arith::ConstantIntOp::create(b, 0, 32),
                            faultSlot);
      result = emitTile(*this, tile);
      if (mayFault)
        reportFault(tile);
    });
    return result;
  }
  Value pieces = ceilDiv(rows, grain);
  loop(block, pieces, blocks, [&](Value piece) {
    LLVM::StoreOp::create(b, arith::ConstantIntOp::create(b, 0, 32), faultSlot);
    Value first = mul(piece, grain);
    Value last = min(rows, add(first, grain));
    bool isShared = share == kernel::DeviceRows::OfBlocks;
    auto emitOne = [&](Value row) {
      begin = row;
      // Without overflow, so that loops from begin to end unfold.
      end = arith::AddIOp::create(b, row, number(1),
                                  arith::IntegerOverflowFlags::nsw);
      result = emitRow();
    };
    // Of a tile, all threads do a part.
    if (tileOf(kernel))
      loop(first, last, [&](Value tile) { result = emitTile(*this, tile); });
    else
      loop(isShared ? first : add(first, thread), last, emitOne,
           isShared ? 1 : threads);
    if (mayFault)
      reportFault(piece);
  });
  return result;
}

LogicalResult DeviceEmitter::emitRow() {
  if (kernel.getSchedule() == kernel::depthwiseSchedule)
    return emitDepthwise(*this, begin);
  if (kernel.getSchedule() != "Generic")
    return kernel.emitOpError("has a schedule that is not for CUDA: '")
           << kernel.getSchedule() << "'; please report this";
  if (share == kernel::DeviceRows::Elements)
    return emitElement(*this, begin);
  return emitGeneric();
}

//===----------------------------------------------------------------------===//
// What loop nests find
//===----------------------------------------------------------------------===//

Value DeviceEmitter::symbolValue(unsigned ordinal) { return symbols[ordinal]; }

Value DeviceEmitter::scratchBase() {
  Value ordinal = mul(block, number(threads));
  // Who shares a row has columns of their own in one area.
  if (share != kernel::DeviceRows::OfBlocks)
    ordinal = add(ordinal, thread);
  return address(scratchStart, b.getI8Type(), mul(ordinal, scratchStride));
}

/// An instruction that is neither moved nor left out.
static Value fixedAsm(OpBuilder &b, Location loc, Type type,
                      ValueRange operands, StringRef text,
                      StringRef constraints) {
  return LLVM::InlineAsmOp::create(
             b, loc, TypeRange(type), operands, text, constraints,
             /*has_side_effects=*/true, /*is_align_stack=*/false,
             LLVM::tailcallkind::TailCallKind::None,
             LLVM::AsmDialectAttr::get(b.getContext(),
                                       LLVM::AsmDialect::AD_ATT),
             /*operand_attrs=*/ArrayAttr())
      ->getResult(0);
}

Value DeviceEmitter::threadHere() {
  Value read =
      fixedAsm(b, b.getLoc(), b.getI32Type(), {}, "mov.u32 $0, %tid.x;", "=r");
  return arith::ExtUIOp::create(b, b.getI64Type(), read);
}

Value DeviceEmitter::again(Value number) {
  return fixedAsm(b, b.getLoc(), b.getI64Type(), number, "mov.b64 $0, $1;",
                  "=l,l");
}

Value DeviceEmitter::sharedMemory() {
  constexpr unsigned space = 3;
  constexpr StringLiteral name = "dynamic_shared";
  auto global = module.lookupSymbol<LLVM::GlobalOp>(name);
  if (!global) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    global = LLVM::GlobalOp::create(
        b, LLVM::LLVMArrayType::get(b.getI8Type(), 0), /*isConstant=*/false,
        LLVM::Linkage::External, name, Attribute(), /*alignment=*/16, space);
  }
  return atEntry([&]() -> Value {
    return LLVM::AddressOfOp::create(
        b, LLVM::LLVMPointerType::get(b.getContext(), space), name);
  });
}

Value DeviceEmitter::sharedBase() { return sharedStart; }

void DeviceEmitter::barrier() {
  ptx::NamedBarrierOp::create(b, 0, threads, /*arrive=*/false);
}

//===----------------------------------------------------------------------===//
// Columns of a row
//===----------------------------------------------------------------------===//

Value DeviceEmitter::firstColumn() {
  return share == kernel::DeviceRows::OfBlocks ? thread : number(0);
}

int64_t DeviceEmitter::columnStep() {
  return share == kernel::DeviceRows::OfBlocks ? threads : 1;
}

/// In a butterfly, so that all threads have the same bits.
Value DeviceEmitter::joinThreads(Value mine, Join join) {
  if (share != kernel::DeviceRows::OfBlocks)
    return mine;
  for (int64_t distance = threads / 2; distance > 0; distance /= 2)
    mine = join(mine, exchange(mine, distance));
  return mine;
}

Value DeviceEmitter::exchange(Value mine, int64_t distance) {
  return shuffle("bfly", mine, distance, /*end=*/31);
}

Value DeviceEmitter::fromBelow(Value mine, int64_t distance) {
  return shuffle("up", mine, distance, /*end=*/0);
}

/// A 32-bit exchange among all lanes of a warp, up to lane `end`, of each half.
Value DeviceEmitter::shuffle(StringRef kind, Value mine, int64_t distance,
                             int64_t end) {
  Type type = mine.getType(), i32 = b.getI32Type();
  unsigned bits = type.getIntOrFloatBitWidth();
  Type plain = b.getIntegerType(bits);
  if (type != plain)
    mine = arith::BitcastOp::create(b, plain, mine);
  auto number = [&](int64_t value) {
    return arith::ConstantIntOp::create(b, value, 32);
  };
  auto swap = [&](Value word) -> Value {
    Value operands[] = {number(-1), word, number(distance), number(end)};
    return LLVM::CallIntrinsicOp::create(
               b, i32,
               b.getStringAttr("llvm.nvvm.shfl.sync." + kind.str() + ".i32"),
               operands)
        .getResult(0);
  };
  Value other;
  if (bits <= 32) {
    Value word = bits < 32 ? arith::ExtUIOp::create(b, i32, mine) : mine;
    other = swap(word);
    if (bits < 32)
      other = arith::TruncIOp::create(b, plain, other);
  } else {
    Value half = arith::ConstantIntOp::create(b, 32, 64);
    Value low = swap(arith::TruncIOp::create(b, i32, mine));
    Value high = swap(
        arith::TruncIOp::create(b, i32, arith::ShRUIOp::create(b, mine, half)));
    high =
        arith::ShLIOp::create(b, arith::ExtUIOp::create(b, plain, high), half);
    other =
        arith::OrIOp::create(b, arith::ExtUIOp::create(b, plain, low), high);
  }
  return type == plain ? other
                       : Value(arith::BitcastOp::create(b, type, other));
}

//===----------------------------------------------------------------------===//
// Calls and faults
//===----------------------------------------------------------------------===//

Value DeviceEmitter::power2(Value x) {
  Type f32 = b.getF32Type();
  auto power = [&](Value x) {
    return LLVM::CallIntrinsicOp::create(
               b, f32, b.getStringAttr("llvm.nvvm.ex2.approx.ftz.f"), x)
        .getResult(0);
  };
  auto type = dyn_cast<VectorType>(x.getType());
  if (!type)
    return power(x);
  Value all = x;
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    all = vector::InsertOp::create(b, power(vector::ExtractOp::create(b, x, i)),
                                   all, i);
  return all;
}

Value DeviceEmitter::callMath(int function, ValueRange operands) {
  Type type = operands[0].getType();
  std::string name =
      mathFunctionName(function, operands.size() == 2, type.isF64());
  SmallVector<Type> inputs(operands.size(), type);
  auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!callee) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    callee = LLVM::LLVMFuncOp::create(
        b, name, LLVM::LLVMFunctionType::get(type, inputs));
  }
  return LLVM::CallOp::create(b, callee, operands).getResult();
}

void DeviceEmitter::fault(Value bad, int code, Operation *op) {
  mayFault = true;
  Emitter::fault(bad, code, op);
}

void DeviceEmitter::reportFault(Value piece) {
  Value none = arith::ConstantIntOp::create(b, 0, 32);
  Value code = LLVM::LoadOp::create(b, b.getI32Type(), faultSlot);
  Value isOne = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, code, none);
  ifThen(isOne, [&] {
    Value word =
        arith::OrIOp::create(b, arith::ShLIOp::create(b, piece, number(32)),
                             arith::ExtUIOp::create(b, b.getI64Type(), code));
    LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::umin, faultWord, word,
                              LLVM::AtomicOrdering::monotonic, "device");
  });
}

std::string mathFunctionName(int function, bool isBinary, bool isDouble) {
  // In the order of `tenon_math_t`.
  static constexpr const char *unary[TENON_MATH_UNARY_COUNT] = {
      "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf",
      "exp",  "expm1", "log",  "log1p", "sin",  "sinh",  "tan", "tanh"};
  static constexpr const char *binary[TENON_MATH_BINARY_COUNT] = {"pow",
                                                                  "fmod"};
  return std::string("tenon_") + (isBinary ? binary : unary)[function] +
         (isDouble ? "" : "f");
}

} // namespace tenon::cuda
