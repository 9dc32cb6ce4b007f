//===- FunctionUnits.cpp - Functions that compile by themselves -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/FunctionUnits.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/ObjCopy/ConfigManager.h"
#include "llvm/ObjCopy/ObjCopy.h"
#include "llvm/Object/Binary.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace tenon::cpu {
namespace {

/// What a unit calls the i-th of its names.
std::string nameInUnit(size_t i) { return "function" + std::to_string(i); }

void hideIfLocal(Function &copy, const Function &original) {
  if (original.hasLocalLinkage())
    copy.setVisibility(GlobalValue::HiddenVisibility);
}

class UnitBuilder {
public:
  explicit UnitBuilder(Function &function)
      : function(function), unit("", function.getContext()) {
    unit.setTargetTriple(function.getParent()->getTargetTriple());
    unit.setDataLayout(function.getParent()->getDataLayout());
  }

  FunctionUnit build() {
    Function *copy = declare(function);
    for (auto [from, to] : zip(function.args(), copy->args()))
      values[&from] = &to;
    for (Instruction &instruction : instructions(function))
      for (Value *operand : instruction.operand_values())
        declareGlobals(operand);
    SmallVector<ReturnInst *> returns;
    CloneFunctionInto(copy, &function, values,
                      CloneFunctionChangeType::DifferentModule, returns);
    hideIfLocal(*copy, function); // Cloning took this back.
    // It makes room for debug info, of which there is none.
    if (NamedMDNode *units = unit.getNamedMetadata("llvm.dbg.cu"))
      units->eraseFromParent();
    raw_string_ostream stream(result.bitcode);
    WriteBitcodeToFile(unit, stream);
    return std::move(result);
  }

private:
  void declareGlobals(Value *value) {
    if (!isa<Constant>(value) || values.count(value))
      return;
    if (auto *callee = dyn_cast<Function>(value))
      declareWithForms(*callee);
    else if (auto *bytes = dyn_cast<GlobalVariable>(value))
      copyGlobal(*bytes);
    else
      for (Value *operand : cast<Constant>(value)->operand_values())
        declareGlobals(operand);
  }

  /// Attributes of what only LLVM's passes expand name its forms for vectors.
  void declareWithForms(Function &callee) {
    declare(callee);
    if (callee.isIntrinsic() || !callee.isDeclaration())
      return;
    for (Function &other : *callee.getParent())
      if (other.isDeclaration() && !other.isIntrinsic() &&
          !values.count(&other))
        declare(other);
  }

  Function *declare(const Function &from) {
    std::string name = from.getName().str();
    // What the module does not define is known to all by its name.
    if (!from.isDeclaration()) {
      result.names.push_back(std::move(name));
      name = nameInUnit(result.names.size() - 1);
    }
    auto *to = Function::Create(from.getFunctionType(),
                                GlobalValue::ExternalLinkage, name, unit);
    to->copyAttributesFrom(&from);
    hideIfLocal(*to, from);
    values[&from] = to;
    return to;
  }

  /// Each function has tables of its own; memory without contents is all
  /// functions'.
  void copyGlobal(GlobalVariable &from) {
    bool isTable = from.hasInitializer();
    assert(isTable == from.isConstant());
    auto *to = new GlobalVariable(
        unit, from.getValueType(), isTable,
        isTable ? GlobalValue::PrivateLinkage : GlobalValue::ExternalLinkage,
        isTable ? from.getInitializer() : nullptr,
        isTable ? nameInUnit(0) + "_table" : from.getName().str(), nullptr,
        GlobalValue::NotThreadLocal, from.getAddressSpace());
    to->copyAttributesFrom(&from);
    values[&from] = to;
  }

  Function &function;
  Module unit;
  ValueToValueMapTy values;
  FunctionUnit result;
};

} // namespace

std::vector<FunctionUnit> splitFunctions(Module &code) {
  std::vector<FunctionUnit> units;
  for (Function &function : code)
    if (!function.isDeclaration())
      units.push_back(UnitBuilder(function).build());
  return units;
}

std::unique_ptr<Module> readUnit(StringRef bitcode, LLVMContext &context) {
  auto code = parseBitcodeFile(MemoryBufferRef(bitcode, ""), context);
  if (code)
    return std::move(*code);
  consumeError(code.takeError());
  return nullptr;
}

std::vector<CompiledUnit>
compileUnits(Module &code, CodeCache &cache,
             std::function<std::string(Module &)> compile) {
  std::vector<CompiledUnit> compiled;
  for (FunctionUnit &unit : splitFunctions(code)) {
    auto made = cache.get(unit.bitcode, [bitcode = unit.bitcode, compile] {
      LLVMContext context;
      std::unique_ptr<Module> alone = readUnit(bitcode, context);
      return alone ? compile(*alone) : std::string();
    });
    compiled.push_back({std::move(unit), std::move(made)});
  }
  return compiled;
}

std::string withName(StringRef text, const FunctionUnit &unit) {
  SmallVector<StringRef> pieces;
  text.split(pieces, nameInUnit(0));
  return join(pieces, unit.name());
}

Expected<std::string> withNames(StringRef object, const FunctionUnit &unit) {
  auto binary = object::createBinary(MemoryBufferRef(object, ""));
  if (!binary)
    return binary.takeError();
  objcopy::ConfigManager config;
  for (auto [i, name] : enumerate(unit.names))
    config.Common.SymbolsToRename[nameInUnit(i)] = name;
  std::string renamed;
  raw_string_ostream stream(renamed);
  if (Error error = objcopy::executeObjcopyOnBinary(config, **binary, stream))
    return error;
  return renamed;
}

} // namespace tenon::cpu
