//===- Decoder.h - From statements of PTX to instructions -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The decoder walks a kernel's statements, resolves names and inlines calls.
// What an opcode means is the business of its family, which sees one Line.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_GPU_SIM_DECODER_H
#define TENON_TEST_GPU_SIM_DECODER_H

#include "test/gpu/sim/Program.h"
#include "test/gpu/sim/Syntax.h"

#include <deque>
#include <initializer_list>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tenon::sim {

class Line;
using Decode = bool (*)(Line &);
using DecodeTable = std::unordered_map<std::string_view, Decode>;

/// Each adds its opcodes.
void addAccessInstructions(DecodeTable &table);
void addAsyncInstructions(DecodeTable &table);
void addAtomicInstructions(DecodeTable &table);
void addBarrierInstructions(DecodeTable &table);
void addBitInstructions(DecodeTable &table);
void addClusterInstructions(DecodeTable &table);
void addCompareInstructions(DecodeTable &table);
void addControlInstructions(DecodeTable &table);
void addConvertInstructions(DecodeTable &table);
void addFloatInstructions(DecodeTable &table);
void addIntegerInstructions(DecodeTable &table);
void addMatrixInstructions(DecodeTable &table);
void addMoveInstructions(DecodeTable &table);
void addPhaseInstructions(DecodeTable &table);
void addWarpInstructions(DecodeTable &table);
void addWarpgroupInstructions(DecodeTable &table);

/// cp.async.mbarrier: decoded beside the other actions on mbarriers.
bool decodeCopyArrival(Line &line);
/// What follows barrier.cluster.
bool decodeClusterBarrier(Line &line);
/// What follows cp.async.bulk.
bool decodeBulkCopy(Line &line);

/// What a name in a function's body stands for.
struct Symbol {
  enum Kind { None, Local, Shared, Dynamic, Constant, Global, Parameter };
  Kind kind = None;
  uint64_t offset = 0; // In its space; Global: its number in the module.
  uint64_t bytes = 0;
};

struct Scope {
  const Scope *parent = nullptr;
  std::unordered_map<std::string_view, Operand> registers;
  std::unordered_map<std::string_view, std::vector<Operand>> ranges;
  std::unordered_map<std::string_view, Symbol> symbols;
  std::unordered_map<std::string_view, uint32_t> labels;
  std::unordered_map<std::string_view, const Statement *> targets;
};

/// Decodes one kernel.
class Decoder {
public:
  Decoder(const ModuleText &text, ModuleData &data, Kernel &kernel,
          std::string &error)
      : text(text), data(data), kernel(kernel), program(*kernel.program),
        error(error) {}

  bool decode(const FunctionText &function);

  // For lines.
  const Operand *findRegister(std::string_view name) const;
  Symbol findSymbol(std::string_view name);
  Operand constant(uint64_t value, uint8_t bytes);
  /// A constant that holds a symbol's address in its own space.
  bool addressOf(const Symbol &symbol, uint64_t addend, uint8_t bytes,
                 Operand &out);
  const Operand *special(std::string_view name);
  Operand newRegister(uint8_t bytes, std::string_view name);
  void emit(Instruction instruction, std::vector<Operand> &operands,
            std::string_view label = {});
  bool inEntry() const { return frames.size() == 1; }
  /// Where a return goes: empty in the kernel itself.
  std::string_view returnLabel() const { return frames.back().end; }
  bool call(Line &line, std::string_view callee, const Node *results,
            const Node *arguments);
  /// Whether the last instruction that made this register is one of floats.
  bool isOfFloats(std::string_view name) const { return floats.contains(name); }
  /// The narrowest stores decide how finely races are looked for.
  void noteStore(Space space, uint32_t bytes);
  void noteWarpgroups() { program.warpgroups = true; }
  bool failAt(const Statement &statement, const std::string &why);

private:
  struct Frame {
    const FunctionText *function;
    std::string_view end; // Label behind an inlined body.
  };
  struct Jump {
    uint32_t instruction;
    const Scope *scope;
    std::string_view label;
    const Statement *statement;
    bool table;
  };
  struct Variable {
    Symbol symbol;
    uint32_t bytes;
  };

  bool body(const FunctionText &function);
  bool statement(const FunctionText &function, const Statement &statement);
  bool instruction(const Statement &statement);
  void noteFloats(const Statement &statement);
  bool declare(const VariableText &variable);
  bool declareRegisters(const Statement &statement);
  bool parameters(const FunctionText &function);
  bool resolveJumps();
  bool copyArgument(Line &line, const Node &node, const VariableText &formal,
                    uint64_t offset, bool intoFormal);
  uint32_t textOf(std::string_view text);
  /// Space for a module's variable in this kernel's block, once.
  uint64_t placeShared(size_t variable);
  void fillConstant(const Operand &operand, uint64_t value);
  void placeDynamicShared();
  Scope &pushScope(const Scope *parent);

  const ModuleText &text;
  ModuleData &data;
  Kernel &kernel;
  Program &program;
  std::string &error;
  std::deque<Scope> scopes; // All of them: jumps refer to theirs.
  Scope *scope = nullptr;
  std::vector<Frame> frames;
  std::vector<Jump> jumps;
  std::map<std::pair<uint64_t, uint8_t>, Operand> constants;
  std::unordered_map<std::string_view, uint32_t> textIndices;
  std::deque<std::string> names;           // Of labels behind inlined bodies.
  std::map<size_t, uint64_t> sharedPlaces; // Of the module's variables.
  std::vector<std::pair<Operand, uint64_t>> dynamicAddresses; // And addends.
  std::unordered_set<std::string_view> floats;                // Registers.
  const Statement *current = nullptr;
  friend class Line;
};

/// One instruction while it is decoded: families take its modifiers and its
/// operands; what nobody took is an error.
class Line {
public:
  Line(Decoder &decoder, const Statement &statement);

  Instruction out;
  Decoder &decoder;
  const Statement &statement;

  std::string_view opcode() const { return name; }
  /// Whether this modifier is there; it counts as understood.
  bool take(std::string_view modifier);
  /// The index of the modifier of the list that is there, else -1.
  int takeOneOf(std::initializer_list<std::string_view> modifiers);
  /// The rest of the modifier that begins so: it counts as understood.
  bool takePrefixed(std::string_view prefix, std::string_view &rest);
  /// The last modifier that is left, as a type; false with an error otherwise.
  bool takeType(Type &type);
  /// .rn .rz .rm .rp .rna, and the integer forms; false: none.
  bool takeRounding(Rounding &rounding);

  size_t size() const { return statement.operands.size(); }
  bool expect(size_t least, size_t most);
  bool expect(size_t count) { return expect(count, count); }
  const Node &node(size_t index) const { return statement.operands[index]; }

  /// Adds operand `index`. A register must be as wide as the type, or, where
  /// `wider`, at least so wide.
  bool target(size_t index, Type type, bool wider = false);
  bool source(size_t index, Type type, bool wider = false);
  bool targetNode(const Node &node, Type type, bool wider = false);
  bool sourceNode(const Node &node, Type type, bool wider = false);
  /// Adds each operand of a list, or the one; `count` says how many.
  bool targetList(size_t index, Type type, uint8_t &count, bool wider = false);
  bool sourceList(size_t index, Type type, uint8_t &count, bool wider = false);
  /// Adds an address's base; its offset goes to `offset`.
  bool address(size_t index, Space space, uint64_t &offset);
  bool addressNode(const Node &node, Space space, uint64_t &offset);
  bool integer(size_t index, uint64_t &value);
  /// Whether an added operand's register is just as wide as a type.
  bool fits(size_t index, Type type) const {
    return operands[index].bytes == type.bytes() && !operands[index].sink;
  }
  void add(const Operand &operand) { operands.push_back(operand); }

  bool fail(const std::string &why);
  bool finish(Execute execute);
  bool finishJump(Execute execute, Flow flow, std::string_view label);

private:
  bool number(const Node &node, Type type, uint64_t &value);

  std::string_view name;
  std::vector<std::string_view> modifiers;
  std::vector<Operand> operands;
};

/// Marks the instructions that set registers of warpgroups' products.
void findProductRegisters(Program &program);
/// Marks the instructions that may read a register nobody set.
void findUnsetRegisters(Program &program);

} // namespace tenon::sim

#endif // TENON_TEST_GPU_SIM_DECODER_H
