//===- TestKernels.cpp - PTX for the simulator's tests --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/TestKernels.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace tenon::sim {

namespace {

/// What ptxas says about the text; empty: nothing, or there is no ptxas.
std::string assemble(const std::string &text, const std::string &target) {
  static const bool kFound = system("ptxas --version >/dev/null 2>&1") == 0;
  if (!kFound)
    return {};
  std::string base =
      testing::TempDir() + "tenon_sim_" + std::to_string(getpid()) + ".ptx";
  std::ofstream(base) << text;
  std::string command =
      "ptxas -arch=" + target + " " + base + " -o /dev/null 2>" + base + ".log";
  bool good = system(command.c_str()) == 0;
  std::stringstream log;
  log << std::ifstream(base + ".log").rdbuf();
  unlink(base.c_str());
  unlink((base + ".log").c_str());
  return good ? "" : log.str();
}

} // namespace

std::string entry(const std::string &name, int parameters,
                  const std::string &body) {
  std::string text = ".visible .entry " + name + "(";
  for (int i = 0; i < parameters; ++i)
    text += (i ? ", .param .u64 p" : ".param .u64 p") + std::to_string(i);
  return text + ")\n{\n" + body + "  ret;\n}\n";
}

std::unique_ptr<Module> parseModule(const std::string &kernels,
                                    const std::string &target) {
  std::string text =
      ".version 8.0\n.target " + target + "\n.address_size 64\n" + kernels;
  EXPECT_EQ(assemble(text, target), "") << text;
  std::string error;
  std::unique_ptr<Module> module = Module::parse(text, error);
  EXPECT_TRUE(module) << error << "\n" << text;
  return module;
}

} // namespace tenon::sim
