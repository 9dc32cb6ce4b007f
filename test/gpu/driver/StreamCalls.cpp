//===- StreamCalls.cpp - Streams, and capturing them ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/driver/Call.h"
#include "test/gpu/driver/Queue.h"

#include <utility>

using namespace fake;

FAKE_CUDA cuStreamCreate(Handle *out, unsigned flags) {
  Call call("cuStreamCreate", NeedsContext, OutOfMemory);
  if (!call)
    return call.status();
  if (flags & ~unsigned(StreamNonBlocking))
    return call.violate(InvalidValue, "flags are %u", flags);
  bool blocking = !(flags & StreamNonBlocking);
  *out = call.driver.make<Stream>(call.current->handle, blocking)->handle;
  return call.done();
}

FAKE_CUDA cuStreamDestroy_v2(Handle handle) {
  Call call("cuStreamDestroy_v2", NeedsContext | Destroys, LaunchFailed);
  Stream *stream = call ? call.object<Stream>(handle) : nullptr;
  if (!stream)
    return call.status();
  if (handle == call.current->defaultStream)
    return call.violate(InvalidHandle, "the default stream cannot go");
  if (stream->capture != CaptureNone)
    call.driver.violate("cuStreamDestroy_v2: the stream is being captured");
  // What it still has to do is done: only its handle goes.
  finishStream(call.driver, *stream);
  call.driver.destroy(handle);
  return call.done();
}

/// Waiting for a stream that only remembers would be waiting for nothing.
static bool mayWait(Call &call, Stream &stream) {
  if (stream.capture == CaptureNone)
    return true;
  if (stream.capture == CaptureActive)
    call.violate(CaptureUnsupported, "the stream is being captured");
  stream.capture = CaptureBroken;
  call.refuse(CaptureUnsupported);
  return false;
}

FAKE_CUDA cuStreamSynchronize(Handle handle) {
  Call call("cuStreamSynchronize", NeedsContext, LaunchFailed);
  Stream *stream = call ? call.stream(handle) : nullptr;
  if (!stream || !mayWait(call, *stream))
    return call.status();
  if (Status status = finishStream(call.driver, *stream))
    return call.refuse(status);
  return call.done();
}

FAKE_CUDA cuStreamQuery(Handle handle) {
  Call call("cuStreamQuery", NeedsContext, LaunchFailed);
  Stream *stream = call ? call.stream(handle) : nullptr;
  if (!stream || !mayWait(call, *stream))
    return call.status();
  if (stream->queue.empty())
    return call.done();
  // Who asks again and again gets there.
  finish(call.driver, *stream, stream->done + 1);
  return call.refuse(NotReady);
}

FAKE_CUDA cuStreamWaitEvent(Handle handle, Handle eventHandle, unsigned) {
  Call call("cuStreamWaitEvent", NeedsContext, InvalidHandle);
  Stream *stream = call ? call.stream(handle) : nullptr;
  Event *event = stream ? call.object<Event>(eventHandle) : nullptr;
  if (!event)
    return call.status();
  if (event->captured != (stream->capture == CaptureActive))
    return call.violate(CaptureIsolation,
                        "one of stream and event is part of a capture (the "
                        "fake driver captures single streams)");
  if (event->captured || isDone(call.driver, *event))
    return call.done(); // A capture keeps its order anyway.
  Operation operation;
  operation.kind = Operation::Wait;
  operation.call = call.name;
  operation.after.push_back({event->stream, event->ticket});
  issue(call.driver, *stream, std::move(operation));
  return call.done();
}

FAKE_CUDA cuStreamBeginCapture_v2(Handle handle, CaptureMode mode) {
  Call call("cuStreamBeginCapture_v2", NeedsContext, CaptureUnsupported);
  Stream *stream = call ? call.stream(handle) : nullptr;
  if (!stream)
    return call.status();
  if (stream->handle == call.current->defaultStream)
    return call.violate(CaptureUnsupported, "the default stream");
  if (stream->capture != CaptureNone)
    return call.violate(CaptureUnsupported, "the stream is captured already");
  if (mode < CaptureGlobal || mode > CaptureRelaxed)
    return call.violate(InvalidValue, "mode %d", int(mode));
  stream->capture = CaptureActive;
  stream->mode = mode;
  stream->capturer = std::this_thread::get_id();
  stream->captured.clear();
  return call.done();
}

FAKE_CUDA cuStreamEndCapture(Handle handle, Handle *out) {
  Call call("cuStreamEndCapture", NeedsContext | Destroys, OutOfMemory);
  Stream *stream = call ? call.stream(handle) : nullptr;
  if (!stream)
    return call.status();
  *out = nullptr;
  CaptureStatus was = std::exchange(stream->capture, CaptureNone);
  std::vector<Operation> operations = std::move(stream->captured);
  stream->captured.clear();
  if (was == CaptureNone)
    return call.violate(CaptureUnmatched, "no capture was begun");
  if (was == CaptureBroken)
    return call.refuse(CaptureInvalidated);
  if (call.status() != Success)
    return call.status(); // It fails on purpose: no graph.
  auto *graph = call.driver.make<Graph>(call.current->handle);
  graph->operations = std::move(operations);
  *out = graph->handle;
  return call.done();
}

FAKE_CUDA cuStreamIsCapturing(Handle handle, CaptureStatus *out) {
  Call call("cuStreamIsCapturing", NeedsContext, InvalidHandle);
  Stream *stream = call ? call.stream(handle) : nullptr;
  if (!stream)
    return call.status();
  *out = stream->capture;
  return call.done();
}
