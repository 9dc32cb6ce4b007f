//===- Settings.cpp - How the fake driver behaves -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/driver/Settings.h"

#include <cstdlib>
#include <cstring>

using namespace fake;

namespace {
struct Reader {
  std::string mistake;

  const char *text(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : nullptr;
  }

  void refuse(const char *name, const char *value, const char *wanted) {
    if (mistake.empty())
      mistake = std::string(name) + " is \"" + value + "\" and not " + wanted;
  }

  void number(const char *name, uint64_t &out) {
    const char *value = text(name);
    if (!value)
      return;
    char *end = nullptr;
    uint64_t read = strtoull(value, &end, 10);
    if (*end || *value == '-')
      return refuse(name, value, "a number");
    out = read;
  }

  void flag(const char *name, bool &out) {
    uint64_t read = out;
    number(name, read);
    if (read > 1)
      return refuse(name, text(name), "0 or 1");
    out = read;
  }

  void order(const char *name, Order &out) {
    const char *value = text(name);
    if (!value)
      return;
    if (!strcmp(value, "eager"))
      out = Order::Eager;
    else if (!strcmp(value, "lazy"))
      out = Order::Lazy;
    else if (!strcmp(value, "random"))
      out = Order::Random;
    else
      refuse(name, value, "eager, lazy or random");
  }

  void path(const char *name, std::string &out) {
    if (const char *value = text(name))
      out = value;
  }
};
} // namespace

Settings Settings::fromEnvironment() {
  Settings settings;
  Reader reader;
  reader.number("FAKE_CUDA_DEVICES", settings.devices);
  reader.number("FAKE_CUDA_SM", settings.sm);
  reader.number("FAKE_CUDA_MEMORY", settings.memory);
  reader.number("FAKE_CUDA_ALLOCATION", settings.allocation);
  reader.number("FAKE_CUDA_VERSION", settings.version);
  reader.order("FAKE_CUDA_QUEUE", settings.queue);
  reader.order("FAKE_CUDA_ORDER", settings.order);
  reader.number("FAKE_CUDA_SEED", settings.seed);
  reader.number("FAKE_CUDA_INSTRUCTIONS", settings.instructions);
  reader.number("FAKE_CUDA_FAIL_CALL", settings.failCall);
  reader.path("FAKE_CUDA_COMPANION", settings.companion);
  reader.path("FAKE_CUDA_LOG", settings.log);
  reader.flag("FAKE_CUDA_LEAKS", settings.leaks);
  reader.flag("FAKE_CUDA_ABORT", settings.abort);
  uint64_t sm = settings.sm;
  if (sm != 80 && sm != 90 && sm != 100 && sm != 120)
    reader.refuse("FAKE_CUDA_SM", reader.text("FAKE_CUDA_SM"),
                  "80, 90, 100 or 120");
  if (settings.devices > 16)
    reader.refuse("FAKE_CUDA_DEVICES", reader.text("FAKE_CUDA_DEVICES"),
                  "at most 16");
  settings.mistake = reader.mistake;
  return settings;
}
