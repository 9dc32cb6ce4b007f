//===- Program.h - Decoded kernels ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel as the interpreter sees it: a list of instructions, each with the
// function that performs it for a warp. Functions of the module are inlined.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_GPU_SIM_PROGRAM_H
#define TENON_TEST_GPU_SIM_PROGRAM_H

#include "test/gpu/sim/Module.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::sim {

class Warp;

constexpr int kLanes = 32;

struct Type {
  enum Kind : uint8_t {
    None,
    Predicate,
    Bits,
    Unsigned,
    Signed,
    Float,
    BFloat
  };
  Kind kind = None;
  uint8_t bits = 0;     // Of one value.
  uint8_t values = 1;   // 2: a packed pair.
  uint8_t exponent = 0; // Floats narrower than 16 bits, and tf32.

  bool isFloat() const { return kind == Float || kind == BFloat; }
  bool isInteger() const {
    return kind == Bits || kind == Unsigned || kind == Signed;
  }
  uint32_t bytes() const { return bits * values / 8; }
  bool operator==(const Type &) const = default;
};

/// "f16x2", "b32", ...; kind None for anything else.
Type parseType(std::string_view name);

enum class Space : uint8_t {
  Generic,
  Global,
  Shared,
  Local,
  Constant,
  Parameter,
  Cluster // shared::cluster
};

enum class Rounding : uint8_t { Even, Zero, Down, Up, Away };

/// A register or a constant: 32 lanes of `bytes` each, or, of a predicate, one
/// word with a bit per lane.
struct Operand {
  static constexpr uint32_t kNoIndex = ~0u;
  uint32_t slot = 0;         // In units of kSlot bytes.
  uint8_t base = 0;          // 0: registers, 1: constants.
  uint8_t bytes = 0;         // 0: a predicate.
  bool negated = false;      // A predicate's.
  bool sink = false;         // Results are dropped.
  uint32_t index = kNoIndex; // The register's number; constants have none.
};
constexpr uint32_t kSlot = 64;

enum class Step : uint8_t {
  Next,    // Go on behind this instruction.
  Jumped,  // The function set the program counter, or changed the groups.
  Retry,   // Blocked: perform the instruction again later.
  Blocked, // Blocked: go on behind this instruction when released.
  Failed   // The block holds the reason.
};

/// Where control goes, for what is decided before a kernel runs.
enum class Flow : uint8_t { Falls, Branches, Indexed, Stops };

struct Instruction;
using Execute = Step (*)(Warp &, const Instruction &);

struct Instruction {
  Execute execute = nullptr;
  const Operand *operands = nullptr;
  uint32_t line = 0;
  uint32_t textIndex = 0; // In Program::texts.
  Operand guard;          // If guarded.
  bool guarded = false;
  bool checked = false;    // Some register it reads may never have been set.
  bool recorded = false;   // It sets a register that `checked` ones read.
  bool feeds = false;      // It sets a register of a warpgroup's product.
  bool multiplies = false; // A warpgroup's product.
  Flow flow = Flow::Falls;
  uint8_t operandCount = 0;
  uint8_t targets = 0;              // The first operands are results.
  uint8_t counts[4] = {0, 0, 0, 0}; // Sizes of operand lists, by family.
  uint8_t option = 0;               // By family: comparison, shape, ...
  uint8_t second = 0;               // Likewise.
  Type type, from;
  Space space = Space::Generic;
  Rounding rounding = Rounding::Even;
  bool saturate = false, flush = false; // .sat, .ftz
  bool relu = false;
  uint64_t immediate = 0; // An address's offset, a jump's target, a mask.
  uint64_t immediate2 = 0, immediate3 = 0;
  const uint32_t *table = nullptr; // Targets of an indexed branch.
  uint32_t tableSize = 0;
};

/// A special register that is a plain register here, set when a warp starts.
struct SpecialRegister {
  std::string name;
  Operand operand;
};

struct Program {
  std::string kernel;
  std::vector<Instruction> code;
  std::vector<std::unique_ptr<Operand[]>> operandLists;
  std::vector<std::unique_ptr<uint32_t[]>> tables;
  std::vector<std::string> texts;
  std::vector<char> constants; // kSlot-aligned slots.
  uint32_t registerSlots = 0, registerCount = 0;
  std::vector<std::string> registerNames; // By Operand::index.
  std::vector<uint32_t> implicitSlots;    // Undefined on purpose.
  std::vector<uint32_t> watchedSlots;     // Perhaps read before they are set.
  std::vector<SpecialRegister> specials;
  /// Constants that hold the address of a .global variable, plus an addend.
  struct Fixup {
    uint32_t slot;
    uint32_t variable;
    uint64_t addend;
  };
  std::vector<Fixup> fixups;
  const ModuleData *module = nullptr;
  uint32_t dynamicBase = 0; // Where dynamic shared memory begins.
  uint32_t sharedGranule = 4, globalGranule = 4; // Narrowest store, at most 4.
  uint32_t minimumBlock = 1; // A multiple that the threads must be.
  bool warpgroups = false;   // It uses what needs four warps.
};

struct ModuleVariable {
  std::string name;
  Space space = Space::Global;
  uint32_t alignment = 1;
  uint64_t bytes = 0;
  bool dynamic = false; // extern .shared name[]
  bool initialized = false;
  std::vector<char> data; // Initial values, zeros behind them.
  struct Reference {      // Data that is the address of another variable.
    uint64_t offset;
    uint32_t variable;
    uint64_t addend;
  };
  std::vector<Reference> references;
  uint64_t address = 0; // In its space; .global: 0 until it is loaded.
};

struct ModuleData {
  std::string text; // What every view of the tree points into.
  std::vector<ModuleVariable> variables;
  std::vector<char> constants; // The .const bank.
  const Memory *loadedInto = nullptr;
};

/// Generic addresses of what is not global: a window's number in the top byte.
namespace window {
constexpr uint64_t kShift = 56;
constexpr uint64_t kShared = uint64_t(1) << kShift;
constexpr uint64_t kLocal = uint64_t(2) << kShift;
constexpr uint64_t kConstant = uint64_t(3) << kShift;
constexpr uint64_t kParameter = uint64_t(4) << kShift;
constexpr uint64_t kMask = (uint64_t(1) << kShift) - 1;
} // namespace window

} // namespace tenon::sim

#endif // TENON_TEST_GPU_SIM_PROGRAM_H
