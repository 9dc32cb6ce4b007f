//===- ModuleCalls.cpp - Modules and their functions ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/driver/Call.h"
#include "test/gpu/driver/Queue.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace fake;

namespace {
/// What the caller of a load wants to know besides.
class Logs {
public:
  Logs(unsigned count, const JitOption *options, void **values) {
    for (unsigned i = 0; i < count; ++i)
      if (options[i] < 0 || options[i] > JitLastKnown)
        unknown = options[i];
      else
        value[options[i]] = &values[i];
  }

  int unknown = -1;

  /// Fills the error log and its size, as far as there is room.
  void error(const std::string &text) { put(JitErrorLog, text); }
  void info(const std::string &text) { put(JitInfoLog, text); }

private:
  void **value[JitLastKnown + 1] = {};

  void put(JitOption log, const std::string &text) {
    void **buffer = value[log], **size = value[log + 1];
    if (!size)
      return;
    // The size is the option's value itself, not what it points to.
    auto room = reinterpret_cast<uintptr_t>(*size);
    uintptr_t used = 0;
    if (buffer && *buffer && room) {
      used = std::min<uintptr_t>(room - 1, text.size());
      memcpy(*buffer, text.data(), used);
      static_cast<char *>(*buffer)[used] = 0;
    }
    *size = reinterpret_cast<void *>(used);
  }
};

/// major * 10 + minor of the newest PTX that a driver reads.
int newestPtx(uint64_t driverVersion) {
  struct {
    uint64_t driver;
    int ptx;
  } const table[] = {{13010, 91}, {13000, 90}, {12090, 88}, {12080, 87},
                     {12070, 86}, {12050, 85}, {12040, 84}, {12030, 83},
                     {12020, 82}, {12010, 81}, {12000, 80}, {11080, 78}};
  for (auto &row : table)
    if (driverVersion >= row.driver)
      return row.ptx;
  return 70;
}

/// The first "x.y" after a directive, as 10x + y; 0 without one.
int numberAfter(const std::string &text, const char *directive) {
  size_t at = text.find(directive);
  unsigned major = 0, minor = 0;
  if (at == std::string::npos || sscanf(text.c_str() + at + strlen(directive),
                                        " %u.%u", &major, &minor) != 2)
    return 0;
  return int(major * 10 + minor);
}

/// Whether a device of `sm` runs what was made for ".target sm_N", which a
/// letter ties to its very family.
bool runsTarget(const std::string &text, uint64_t sm, std::string &why) {
  size_t at = text.find(".target");
  unsigned target = 0;
  char letter = 0;
  if (at == std::string::npos ||
      sscanf(text.c_str() + at + 7, " sm_%u%c", &target, &letter) < 1) {
    why = "there is no .target sm_N";
    return false;
  }
  bool tied = letter == 'a' || letter == 'f';
  if (tied ? target == sm : target <= sm)
    return true;
  why = format("the PTX is for sm_%u%.1s and the device is sm_%llu", target,
               tied ? &letter : "", static_cast<unsigned long long>(sm));
  return false;
}

std::string readFile(const std::string &path) {
  std::string text;
  FILE *file = fopen(path.c_str(), "r");
  if (!file)
    return text;
  char part[4096];
  for (size_t got; (got = fread(part, 1, sizeof part, file));)
    text.append(part, got);
  fclose(file);
  return text;
}

/// The PTX that an image stands for; empty: `status` says why there is none.
std::string textOf(Call &call, const void *image, Logs &logs, Status &status) {
  if (memcmp(image,
             "\x7f"
             "ELF",
             4)) {
    auto *text = static_cast<const char *>(image);
    size_t bytes = strlen(text);
    if (std::any_of(text, text + bytes, [](unsigned char c) {
          return c >= 0x7f || (c < ' ' && !strchr("\t\n\r", c));
        })) {
      logs.error("the image is neither PTX text nor a cubin, or is not "
                 "ended by a zero byte");
      status = InvalidImage;
      return "";
    }
    return text;
  }
  std::string text = readFile(call.driver.settings.companion);
  if (text.empty()) {
    logs.error("the fake driver runs no cubins (FAKE_CUDA_COMPANION may name "
               "PTX to run instead)");
    status = NoBinaryForGpu;
  }
  return text;
}

/// The module in a text; null: `status` says why there is none.
std::unique_ptr<sim::Module> parse(const Driver &driver,
                                   const std::string &text, Logs &logs,
                                   Status &status) {
  int version = numberAfter(text, ".version");
  std::string why;
  std::unique_ptr<sim::Module> code;
  if (!version) {
    why = "there is no .version";
    status = InvalidPtx;
  } else if (version > newestPtx(driver.settings.version)) {
    why = format("PTX %d.%d is newer than the driver", version / 10,
                 version % 10);
    status = UnsupportedPtxVersion;
  } else if (!runsTarget(text, driver.settings.sm, why)) {
    status = NoBinaryForGpu;
  } else if (!(code = sim::Module::parse(text, why))) {
    status = InvalidPtx;
  }
  logs.error(why);
  return code;
}
} // namespace

FAKE_CUDA cuModuleLoadDataEx(Handle *out, const void *image, unsigned count,
                             const JitOption *options, void **values) {
  Call call("cuModuleLoadDataEx", NeedsContext | Unsafe, OutOfMemory);
  if (!call)
    return call.status();
  if (!out || !image || (count && (!options || !values)))
    return call.violate(InvalidValue, "an argument is null");
  Logs logs(count, options, values);
  if (logs.unknown >= 0)
    return call.violate(InvalidValue, "option %d is not known", logs.unknown);
  Status status = Success;
  std::string text = textOf(call, image, logs, status);
  if (status != Success)
    return call.refuse(status);
  std::unique_ptr<sim::Module> code = parse(call.driver, text, logs, status);
  if (!code)
    return call.refuse(status);
  sim::Memory &memory = call.driver.memoryOf(call.current->handle);
  std::string why;
  if (!code->load(memory, why)) {
    logs.error(why);
    return call.refuse(OutOfMemory);
  }
  logs.info("parsed for simulation");
  auto *module = call.driver.make<Module>(call.current->handle);
  module->code = std::move(code);
  module->memory = &memory;
  module->ptxVersion = numberAfter(text, ".version");
  *out = module->handle;
  return call.done();
}

FAKE_CUDA cuModuleLoadData(Handle *out, const void *image) {
  return cuModuleLoadDataEx(out, image, 0, nullptr, nullptr);
}

FAKE_CUDA cuModuleUnload(Handle handle) {
  Call call("cuModuleUnload", NeedsContext | Destroys | Unsafe, LaunchFailed);
  Module *module = call ? call.object<Module>(handle) : nullptr;
  if (!module)
    return call.status();
  Driver &driver = call.driver;
  std::string user = pendingUseOfModule(driver, *module);
  if (!user.empty() && call.current->broken == Success)
    driver.violate("cuModuleUnload: " + user + " of its kernel is not " +
                   "finished: synchronise first");
  finishContext(driver, call.current->handle);
  for (auto &[name, function] : module->functions)
    driver.destroy(function);
  driver.destroy(handle);
  return call.done();
}

FAKE_CUDA cuModuleGetFunction(Handle *out, Handle handle, const char *name) {
  Call call("cuModuleGetFunction", NeedsContext, NotFound);
  Module *module = call ? call.object<Module>(handle) : nullptr;
  if (!module)
    return call.status();
  if (!out || !name)
    return call.violate(InvalidValue, "an argument is null");
  const sim::Kernel *kernel = module->code->kernel(name);
  if (!kernel)
    return call.refuse(NotFound);
  Handle &known = module->functions[name];
  if (!known) {
    auto *function = call.driver.make<Function>(call.current->handle);
    function->module = handle;
    function->kernel = kernel;
    known = function->handle;
  }
  *out = known;
  return call.done();
}

FAKE_CUDA cuModuleGetGlobal_v2(Address *address, size_t *bytes, Handle handle,
                               const char *name) {
  Call call("cuModuleGetGlobal_v2", NeedsContext, NotFound);
  Module *module = call ? call.object<Module>(handle) : nullptr;
  if (!module)
    return call.status();
  uint64_t found = 0, size = 0;
  if (!module->code->variable(name, found, size))
    return call.refuse(NotFound);
  if (address)
    *address = found;
  if (bytes)
    *bytes = size;
  return call.done();
}
