//===- EventCalls.cpp - Events --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/driver/Call.h"
#include "test/gpu/driver/Queue.h"

using namespace fake;

FAKE_CUDA cuEventCreate(Handle *out, unsigned flags) {
  Call call("cuEventCreate", NeedsContext, OutOfMemory);
  if (!call)
    return call.status();
  if (flags & ~unsigned(EventFlags))
    return call.violate(InvalidValue, "flags are %u", flags);
  bool timing = !(flags & EventDisableTiming);
  *out = call.driver.make<Event>(call.current->handle, timing)->handle;
  return call.done();
}

FAKE_CUDA cuEventDestroy_v2(Handle handle) {
  Call call("cuEventDestroy_v2", NeedsContext | Destroys, LaunchFailed);
  if (!call || !call.object<Event>(handle))
    return call.status();
  call.driver.destroy(handle); // A record of it that waits does no harm.
  return call.done();
}

FAKE_CUDA cuEventRecord(Handle handle, Handle streamHandle) {
  Call call("cuEventRecord", NeedsContext, InvalidHandle);
  Event *event = call ? call.object<Event>(handle) : nullptr;
  Stream *stream = event ? call.stream(streamHandle) : nullptr;
  if (!stream)
    return call.status();
  event->stream = stream->handle;
  event->captured = stream->capture == CaptureActive;
  event->ticket = stream->issued + !event->captured;
  if (event->captured)
    return call.done(); // It orders a capture, which keeps its order.
  Operation operation;
  operation.kind = Operation::Record;
  operation.call = call.name;
  operation.event = handle;
  issue(call.driver, *stream, std::move(operation));
  return call.done();
}

static Event *eventToWaitFor(Call &call, Handle handle) {
  Event *event = call ? call.object<Event>(handle) : nullptr;
  if (!event || !event->captured)
    return event;
  call.violate(CapturedEvent, "it was recorded in a capture, so nothing is "
                              "there to wait for");
  return nullptr;
}

FAKE_CUDA cuEventSynchronize(Handle handle) {
  Call call("cuEventSynchronize", NeedsContext | Unsafe, LaunchFailed);
  Event *event = eventToWaitFor(call, handle);
  if (!event)
    return call.status();
  Driver &driver = call.driver;
  if (auto *stream = driver.find<Stream>(event->stream))
    if (Status status = finish(driver, *stream, event->ticket))
      return call.refuse(status);
  return call.done();
}

FAKE_CUDA cuEventQuery(Handle handle) {
  Call call("cuEventQuery", NeedsContext | Unsafe, LaunchFailed);
  Event *event = eventToWaitFor(call, handle);
  if (!event)
    return call.status();
  Driver &driver = call.driver;
  if (isDone(driver, *event))
    return call.done();
  auto *stream = driver.find<Stream>(event->stream);
  finish(driver, *stream, stream->done + 1);
  return call.refuse(NotReady);
}

FAKE_CUDA cuEventElapsedTime(float *out, Handle fromHandle, Handle toHandle) {
  Call call("cuEventElapsedTime", NeedsContext, InvalidHandle);
  Event *from = call ? call.object<Event>(fromHandle) : nullptr;
  Event *to = from ? call.object<Event>(toHandle) : nullptr;
  if (!to)
    return call.status();
  if (!from->timing || !to->timing)
    return call.violate(InvalidHandle, "an event was made without timing");
  if (!from->stream || !to->stream)
    return call.violate(InvalidHandle, "an event was never recorded");
  if (!isDone(call.driver, *from) || !isDone(call.driver, *to))
    return call.refuse(NotReady);
  *out = float((to->seconds - from->seconds) * 1e3);
  return call.done();
}
