//===- ContextCalls.cpp - The context that is current in a thread ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/driver/Call.h"
#include "test/gpu/driver/Queue.h"

using namespace fake;

static Context *contextOf(Call &call, Handle handle) {
  std::string why;
  auto *context = call.driver.find<Context>(handle, why);
  if (!context)
    call.violate(InvalidContext, "the context is %s", why.c_str());
  return context;
}

FAKE_CUDA cuCtxPushCurrent_v2(Handle context) {
  Call call("cuCtxPushCurrent_v2", NeedsInit, InvalidContext);
  if (!call || !contextOf(call, context))
    return call.status();
  currentContexts().push_back(context);
  return call.done();
}

FAKE_CUDA cuCtxPopCurrent_v2(Handle *context) {
  Call call("cuCtxPopCurrent_v2", NeedsInit | Destroys, InvalidContext);
  if (!call)
    return call.status();
  if (currentContexts().empty())
    return call.violate(InvalidContext, "no context is current to be popped");
  if (context)
    *context = currentContexts().back();
  currentContexts().pop_back();
  return call.done();
}

FAKE_CUDA cuCtxGetCurrent(Handle *context) {
  Call call("cuCtxGetCurrent", NeedsInit, Unknown);
  if (!call)
    return call.status();
  *context = currentContexts().empty() ? nullptr : currentContexts().back();
  return call.done();
}

FAKE_CUDA cuCtxSetCurrent(Handle context) {
  Call call("cuCtxSetCurrent", NeedsInit, InvalidContext);
  if (!call || (context && !contextOf(call, context)))
    return call.status();
  if (!currentContexts().empty())
    currentContexts().pop_back();
  if (context)
    currentContexts().push_back(context);
  return call.done();
}

FAKE_CUDA cuCtxSynchronize() {
  Call call("cuCtxSynchronize", NeedsContext | Unsafe, LaunchFailed);
  if (!call)
    return call.status();
  if (Status status = finishContext(call.driver, call.current->handle))
    return call.refuse(status);
  return call.done();
}
