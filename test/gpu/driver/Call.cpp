//===- Call.cpp - What every driver call does first and last --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/driver/Call.h"
#include "test/gpu/driver/Queue.h"

#include <cstdarg>
#include <cstdio>

using namespace fake;

std::vector<Handle> &fake::currentContexts() {
  static thread_local std::vector<Handle> contexts;
  return contexts;
}

Call::Call(const char *name, unsigned needs, Status plausible)
    : driver(Driver::instance()), name(name), lock(driver.mutex), needs(needs) {
  result = checkState(plausible);
  goes = result == Success || (needs & Destroys && current);
  // cuDevicePrimaryCtxRelease destroys without a context.
  if (needs & Destroys && !(needs & NeedsContext) && driver.initialized)
    goes = true;
  if (goes && driver.settings.queue == Order::Random)
    doSomeWork(driver);
}

Call::~Call() {
  driver.log(format("%llu %s %s", static_cast<unsigned long long>(driver.calls),
                    name, nameOf(result)));
}

Status Call::checkState(Status plausible) {
  bool fails = ++driver.calls == driver.settings.failCall;
  if (!driver.settings.mistake.empty())
    return Unknown;
  if (needs & (NeedsInit | NeedsContext) && !driver.initialized)
    return violate(NotInitialized, "called before cuInit");
  if (needs & NeedsContext) {
    std::vector<Handle> &contexts = currentContexts();
    if (contexts.empty())
      return violate(InvalidContext, "no context is current in this thread");
    current = driver.find<Context>(contexts.back());
    if (!current)
      return violate(ContextIsDestroyed, "the current context was released");
    if (current->broken != Success)
      return current->broken;
  }
  if (Status status = needs & Unsafe ? checkCaptures() : Success)
    return status;
  if (!fails)
    return Success;
  driver.log(format("%llu %s fails on purpose",
                    static_cast<unsigned long long>(driver.calls), name));
  bool lasts = plausible == LaunchFailed || plausible == IllegalAddress;
  if (lasts && current)
    current->broken = plausible;
  return plausible;
}

Status Call::checkCaptures() {
  Status status = Success;
  driver.each<Stream>([&](Stream &stream) {
    bool mine = stream.capturer == std::this_thread::get_id();
    if (stream.capture == CaptureNone || stream.mode == CaptureRelaxed ||
        (stream.mode == CaptureThreadLocal && !mine))
      return;
    if (stream.capture == CaptureActive)
      violate(CaptureUnsupported, "called while a stream is captured");
    stream.capture = CaptureBroken;
    status = CaptureUnsupported;
  });
  return status;
}

Status Call::refuse(Status status) { return result = status; }

Status Call::violate(Status status, const char *text, ...) {
  char line[1500];
  va_list arguments;
  va_start(arguments, text);
  vsnprintf(line, sizeof line, text, arguments);
  va_end(arguments);
  driver.violate(std::string(name) + ": " + line);
  return result = status;
}

Stream *Call::stream(Handle handle) {
  // 1 and 2 name the default streams of old and of each thread.
  auto number = reinterpret_cast<uintptr_t>(handle);
  return object<Stream>(number <= 2 ? current->defaultStream : handle);
}
