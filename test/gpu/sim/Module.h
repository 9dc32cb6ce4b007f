//===- Module.h - A PTX module that can be simulated ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   std::string error;
//   auto module = Module::parse(text, error); // null: error says why
//   module->load(memory, error);              // places .global variables
//   error = run(*module->kernel("name"), memory, launch, &counts);
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_GPU_SIM_MODULE_H
#define TENON_TEST_GPU_SIM_MODULE_H

#include "test/gpu/sim/Memory.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::sim {

struct Program;    // Decoded instructions of one kernel.
struct ModuleData; // Variables of a module.

struct Parameter {
  std::string name;
  uint32_t offset = 0; // In Launch::parameters.
  uint32_t bytes = 0;
  uint32_t alignment = 1;
};

/// One .entry. Lives as long as its module.
class Kernel {
public:
  std::string name;
  std::vector<Parameter> parameters;
  uint32_t parameterBytes = 0;
  uint32_t maxThreads[3] = {0, 0, 0};      // .maxntid; 0: not given.
  uint32_t requiredThreads[3] = {0, 0, 0}; // .reqntid; 0: not given.
  uint32_t requiredCluster[3] = {0, 0, 0}; // .reqnctapercluster
  uint32_t staticShared = 0;               // Bytes per block.
  uint32_t local = 0;                      // Bytes per thread.
  uint32_t registers = 0;                  // Virtual ones, as PTX names them.

  Kernel();
  ~Kernel();
  std::unique_ptr<Program> program;
};

class Module {
public:
  ~Module();
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  /// Null unless every line is understood; `error` names the line.
  static std::unique_ptr<Module> parse(std::string_view text,
                                       std::string &error);

  const Kernel *kernel(std::string_view name) const; // Null: no such kernel.
  const std::vector<std::unique_ptr<Kernel>> &kernels() const { return all; }

  /// Places and initialises .global variables; nothing to do without any. A
  /// kernel that names one runs only in the memory it was loaded into.
  bool load(Memory &memory, std::string &error);
  void unload(Memory &memory);

  /// Address and size of a loaded .global variable; false: none of that name.
  bool variable(std::string_view name, uint64_t &address,
                uint64_t &bytes) const;

private:
  Module();
  std::unique_ptr<ModuleData> data;
  std::vector<std::unique_ptr<Kernel>> all;
};

} // namespace tenon::sim

#endif // TENON_TEST_GPU_SIM_MODULE_H
