//===- GraphCalls.cpp - Graphs that were captured -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/driver/Call.h"
#include "test/gpu/driver/Queue.h"

using namespace fake;

FAKE_CUDA cuGraphInstantiateWithFlags(Handle *out, Handle handle,
                                      unsigned long long flags) {
  Call call("cuGraphInstantiateWithFlags", NeedsContext, OutOfMemory);
  Graph *graph = call ? call.object<Graph>(handle) : nullptr;
  if (!graph)
    return call.status();
  if (flags)
    return call.violate(InvalidValue, "flags %llu are not known here", flags);
  auto *made = call.driver.make<GraphExec>(call.current->handle);
  made->operations = graph->operations;
  *out = made->handle;
  return call.done();
}

FAKE_CUDA cuGraphExecUpdate_v2(Handle execHandle, Handle graphHandle,
                               UpdateInfo *info) {
  Call call("cuGraphExecUpdate_v2", NeedsContext, GraphUpdateFailure);
  GraphExec *made = call ? call.object<GraphExec>(execHandle) : nullptr;
  Graph *graph = made ? call.object<Graph>(graphHandle) : nullptr;
  if (!graph)
    return call.status();
  if (!info)
    return call.violate(InvalidValue, "nowhere to say what differs");
  *info = {UpdateSuccess, nullptr, nullptr};
  if (made->operations.size() != graph->operations.size())
    info->result = UpdateTopologyChanged;
  else
    for (size_t i = 0; i < made->operations.size(); ++i)
      if (made->operations[i].kind != graph->operations[i].kind)
        info->result = UpdateNodeTypeChanged;
  if (info->result != UpdateSuccess)
    return call.refuse(GraphUpdateFailure);
  made->operations = graph->operations;
  return call.done();
}

/// A sentence about what a graph names and is gone, or "".
static std::string whatIsGone(Driver &driver, sim::Memory &memory,
                              const Operation &operation) {
  uint64_t base, bytes;
  for (Address use : operation.uses)
    if (!memory.range(use, base, bytes))
      return operation.call + " was captured with memory that was freed since";
  for (Address address : {operation.to, operation.from})
    if (address && !memory.find(address, operation.bytes))
      return operation.call + " was captured with memory that was freed since";
  auto *function = driver.find<Function>(operation.function);
  if (operation.kind == Operation::Launch && !function)
    return operation.call + ": its module was unloaded since";
  return "";
}

FAKE_CUDA cuGraphLaunch(Handle execHandle, Handle streamHandle) {
  Call call("cuGraphLaunch", NeedsContext, LaunchFailed);
  GraphExec *made = call ? call.object<GraphExec>(execHandle) : nullptr;
  Stream *stream = made ? call.stream(streamHandle) : nullptr;
  if (!stream)
    return call.status();
  if (stream->capture != CaptureNone)
    return call.violate(CaptureUnsupported,
                        "graphs inside graphs are not known here");
  Driver &driver = call.driver;
  sim::Memory &memory = driver.memoryOf(call.current->handle);
  for (const Operation &operation : made->operations) {
    std::string gone = whatIsGone(driver, memory, operation);
    if (!gone.empty())
      return call.violate(IllegalAddress, "%s", gone.c_str());
  }
  for (const Operation &operation : made->operations)
    issue(driver, *stream, operation);
  return call.done();
}

FAKE_CUDA cuGraphDestroy(Handle handle) {
  Call call("cuGraphDestroy", NeedsContext | Destroys, LaunchFailed);
  if (!call || !call.object<Graph>(handle))
    return call.status();
  call.driver.destroy(handle);
  return call.done();
}

FAKE_CUDA cuGraphExecDestroy(Handle handle) {
  Call call("cuGraphExecDestroy", NeedsContext | Destroys, LaunchFailed);
  if (!call || !call.object<GraphExec>(handle))
    return call.status();
  call.driver.destroy(handle);
  return call.done();
}
