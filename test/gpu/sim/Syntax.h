//===- Syntax.h - PTX text as a tree --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the parser hands to the decoder. Views point into the module's text.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_GPU_SIM_SYNTAX_H
#define TENON_TEST_GPU_SIM_SYNTAX_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::sim {

struct Node {
  enum Kind { Name, Integer, Float32, Float64, Address, List, Pair, Sink };
  Kind kind = Sink;
  std::string_view name;   // Name; Address: its base, unless that is a number.
  uint64_t value = 0;      // The number's bits; Address: the offset.
  bool negated = false;    // !%p
  bool minus = false;      // -name
  std::vector<Node> items; // List, Pair; Address: what follows the comma.
};

struct VariableText {
  int line = 0;
  std::string_view space, type, name; // Without their dots.
  uint32_t alignment = 0;             // 0: the type's own.
  uint64_t count = 1;                 // Elements; 0: name[].
  bool external = false;
  std::vector<Node> initializer;
};

struct Statement {
  enum Kind {
    Instruction,
    Label,         // name
    Open,          // {
    Close,         // }
    Registers,     // .reg .type names; ranges as name and value
    Variable,      // in Function::variables
    Targets,       // label: .branchtargets items
    ImplicitlyDone // A register that LLVM declares undefined on purpose.
  };
  Kind kind = Instruction;
  int line = 0;
  std::string_view text;  // As written, for messages.
  std::string_view name;  // Opcode with modifiers, label, or register type.
  std::string_view guard; // Empty: always.
  bool guardNegated = false;
  std::vector<Node> operands;
  uint32_t variable = 0;
};

struct FunctionText {
  int line = 0;
  bool entry = false, hasBody = false;
  std::string_view name;
  std::vector<VariableText> results, parameters, variables;
  std::vector<Statement> body;
  uint32_t maxThreads[3] = {0, 0, 0}, requiredThreads[3] = {0, 0, 0};
  uint32_t requiredCluster[3] = {0, 0, 0};
};

struct ModuleText {
  std::vector<VariableText> variables;
  std::vector<FunctionText> functions;
};

/// False: `error` names the line. `text` must outlive `module`.
bool parseText(std::string_view text, ModuleText &module, std::string &error);

} // namespace tenon::sim

#endif // TENON_TEST_GPU_SIM_SYNTAX_H
