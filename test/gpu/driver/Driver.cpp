//===- Driver.cpp - What the fake driver knows ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/driver/Driver.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <utility>

using namespace fake;

const char *fake::nameOf(Status status) {
  switch (status) {
#define STATUS(name, number, theirs, words)                                    \
  case name:                                                                   \
    return #theirs;
#include "test/gpu/driver/Statuses.def"
  }
  return nullptr;
}

const char *fake::wordsOf(Status status) {
  switch (status) {
#define STATUS(name, number, theirs, words)                                    \
  case name:                                                                   \
    return words;
#include "test/gpu/driver/Statuses.def"
  }
  return nullptr;
}

const char *fake::nameOf(Kind kind) {
  switch (kind) {
  case Kind::Context:
    return "a context";
  case Kind::Module:
    return "a module";
  case Kind::Function:
    return "a function";
  case Kind::Stream:
    return "a stream";
  case Kind::Event:
    return "an event";
  case Kind::Graph:
    return "a graph";
  case Kind::GraphExec:
    return "an instantiated graph";
  }
  return "?";
}

std::string fake::format(const char *text, ...) {
  char line[2000];
  va_list arguments;
  va_start(arguments, text);
  vsnprintf(line, sizeof line, text, arguments);
  va_end(arguments);
  return line;
}

Module::~Module() {
  if (code && memory)
    code->unload(*memory);
}

Driver::Driver(const Settings &settings)
    : settings(settings), random(settings.seed), nextHandle(0x5eed00000000) {
  for (uint64_t i = 0; i < settings.devices; ++i)
    devices.push_back(std::make_unique<DeviceState>(settings.memory));
  if (!settings.mistake.empty())
    violate(settings.mistake);
}

// Host memory goes last: dead blocks stay mapped until the process ends, so
// that nothing else gets their addresses.
Driver::~Driver() = default;

static Driver *theDriver = nullptr;

Driver &Driver::instance() {
  static std::mutex making;
  std::lock_guard<std::mutex> lock(making);
  if (!theDriver)
    theDriver = new Driver(Settings::fromEnvironment());
  return *theDriver;
}

void Driver::restart() {
  delete std::exchange(theDriver, nullptr);
  instance();
}

void Driver::add(std::unique_ptr<Object> object) {
  nextHandle += 16;
  object->handle = reinterpret_cast<Handle>(nextHandle);
  if (object->kind == Kind::Context)
    object->context = object->handle;
  kinds[nextHandle] = object->kind;
  objects[nextHandle] = std::move(object);
}

void Driver::destroy(Handle handle) {
  objects[reinterpret_cast<uint64_t>(handle)] = nullptr;
}

Object *Driver::find(Handle handle, Kind kind, std::string &why) {
  auto number = reinterpret_cast<uint64_t>(handle);
  auto known = kinds.find(number);
  if (!handle)
    why = "null";
  else if (known == kinds.end())
    why = format("0x%llx, which the driver never gave out",
                 static_cast<unsigned long long>(number));
  else if (known->second != kind)
    why = std::string(nameOf(known->second)) + " and not " + nameOf(kind);
  else if (Object *object = objects[number].get())
    return object;
  else
    why = std::string(nameOf(kind)) + " that was destroyed";
  return nullptr;
}

sim::Memory &Driver::memoryOf(Handle context) {
  return devices[find<Context>(context)->device]->memory;
}

Device Driver::deviceOf(Address address) const {
  for (size_t i = 0; i < devices.size(); ++i)
    if (devices[i]->memory.find(address, 1))
      return Device(i);
  return -1;
}

void Driver::violate(const std::string &sentence) {
  fprintf(stderr, "fake CUDA driver: %s\n", sentence.c_str());
  log("VIOLATION " + sentence);
  violations += sentence + "\n";
  if (settings.abort)
    ::abort();
}

void Driver::log(const std::string &line) {
  if (settings.log.empty())
    return;
  FILE *file = fopen(settings.log.c_str(), "a");
  if (!file)
    return;
  fprintf(file, "%s\n", line.c_str());
  fclose(file);
}

void Driver::lookForLeaks(Handle context, const char *when) {
  if (!settings.leaks)
    return;
  std::string left;
  auto tell = [&](size_t count, const char *what) {
    if (count)
      left += format("%s%zu %s", left.empty() ? "" : ", ", count, what);
  };
  auto countOf = [&]<typename T>(T *) {
    size_t count = 0;
    each<T>([&](T &object) { count += object.context == context; });
    return count;
  };
  size_t blocks = 0, hostBlockCount = 0;
  uint64_t bytes = 0;
  sim::Memory &memory = memoryOf(context);
  for (auto &[address, owner] :
       devices[find<Context>(context)->device]->owners) {
    uint64_t base, size;
    if (owner == context && memory.range(address, base, size))
      ++blocks, bytes += size;
  }
  for (auto &[address, block] : hostBlocks)
    hostBlockCount += block.live && block.context == context;
  tell(blocks, format("allocation(s) of %llu bytes in all",
                      static_cast<unsigned long long>(bytes))
                   .c_str());
  tell(hostBlockCount, "block(s) of host memory");
  tell(countOf(static_cast<Module *>(nullptr)), "module(s)");
  // The default stream is the context's own.
  tell(countOf(static_cast<Stream *>(nullptr)) - 1, "stream(s)");
  tell(countOf(static_cast<Event *>(nullptr)), "event(s)");
  tell(countOf(static_cast<Graph *>(nullptr)), "graph(s)");
  tell(countOf(static_cast<GraphExec *>(nullptr)), "instantiated graph(s)");
  if (!left.empty())
    violate(format("%s: never freed: %s", when, left.c_str()));
}

namespace {
/// What a process that ends here has forgotten, and its exit status.
__attribute__((destructor)) void atExit() {
  if (!theDriver)
    return;
  Driver &driver = *theDriver;
  if (driver.settings.leaks)
    driver.each<Context>([&](Context &context) {
      if (context.broken == Success)
        driver.lookForLeaks(context.handle, "at exit");
      driver.violate(
          format("at exit: the context of device %d was not released %u times",
                 context.device, driver.devices[context.device]->retained));
    });
  if (driver.violations.empty())
    return;
  fflush(nullptr);
  _exit(kViolationStatus);
}
} // namespace

extern "C" {
/// For tests: every violation so far, one sentence a line.
__attribute__((visibility("default"))) const char *fakeCudaViolations() {
  return Driver::instance().violations.c_str();
}

/// For tests: a driver that knows nothing, under the environment as it is now.
__attribute__((visibility("default"))) void fakeCudaRestart() {
  Driver::restart();
}
}
