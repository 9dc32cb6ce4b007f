//===- Perform.cpp - What one operation of a stream does ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/driver/Queue.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <sys/uio.h>
#include <unistd.h>

using namespace fake;

namespace {

template <typename Transfer>
bool canTransfer(const void *host, uint64_t bytes, Transfer &&transfer) {
  // One byte of each page.
  auto first = reinterpret_cast<uint64_t>(host);
  char byte;
  for (uint64_t at = first; at < first + bytes; at = (at | 4095) + 1) {
    iovec mine{&byte, 1}, theirs{reinterpret_cast<void *>(at), 1};
    if (!transfer(mine, theirs))
      return false;
  }
  return true;
}
} // namespace

// Where the system does not let a process look, all is assumed well.
static bool went(ssize_t result) { return result == 1 || errno != EFAULT; }

bool fake::isReadable(const void *host, uint64_t bytes) {
  return canTransfer(host, bytes, [](iovec &mine, iovec &theirs) {
    return went(process_vm_readv(getpid(), &mine, 1, &theirs, 1, 0));
  });
}

bool fake::isWritable(void *host, uint64_t bytes) {
  return canTransfer(host, bytes, [](iovec &mine, iovec &theirs) {
    return went(process_vm_readv(getpid(), &mine, 1, &theirs, 1, 0)) &&
           went(process_vm_writev(getpid(), &mine, 1, &theirs, 1, 0));
  });
}

void fake::poison(void *host, uint64_t bytes) {
  auto *data = static_cast<unsigned char *>(host);
  for (uint64_t i = 0; i < bytes; ++i)
    data[i] = i & 1 ? 0x7f : 0xd1;
}

static std::string copyIn(sim::Memory &memory, Operation &operation) {
  if (!isReadable(operation.host, operation.bytes))
    return "the host's bytes are gone before they were copied";
  if (!memory.write(operation.to, operation.host, operation.bytes))
    return "the target: " + memory.explain(operation.to, operation.bytes);
  return "";
}

static std::string copyOut(sim::Memory &memory, Operation &operation) {
  if (!memory.find(operation.from, operation.bytes))
    return "the source: " + memory.explain(operation.from, operation.bytes);
  if (!isWritable(operation.host, operation.bytes))
    return "the host's memory is gone before it was written";
  memory.read(operation.from, operation.host, operation.bytes);
  return "";
}

/// What was never written in the source counts as never written in the target
/// only if that was so before: the target may be partly new.
static std::string copyDevice(sim::Memory &memory, Operation &operation) {
  const char *from = memory.find(operation.from, operation.bytes);
  char *to = memory.find(operation.to, operation.bytes);
  if (!from)
    return "the source: " + memory.explain(operation.from, operation.bytes);
  if (!to)
    return "the target: " + memory.explain(operation.to, operation.bytes);
  if (from < to + operation.bytes && to < from + operation.bytes)
    return "the source and the target overlap";
  memcpy(to, from, operation.bytes);
  constexpr uint64_t kGranule = 64;
  for (uint64_t at = 0; at < operation.bytes; at += kGranule) {
    uint64_t size = std::min(kGranule, operation.bytes - at);
    if (memory.isWritten(operation.from + at, size)) {
      memory.markWritten(operation.to + at, size);
      continue;
    }
    for (uint64_t i = at; i < at + size; ++i)
      if (memory.isWritten(operation.from + i, 1))
        memory.markWritten(operation.to + i, 1);
  }
  return "";
}

static std::string fill(sim::Memory &memory, Operation &operation) {
  char *data = memory.find(operation.to, operation.bytes);
  if (!data)
    return "the target: " + memory.explain(operation.to, operation.bytes);
  for (uint64_t i = 0; i < operation.bytes; i += operation.width)
    memcpy(data + i, &operation.value, operation.width);
  memory.markWritten(operation.to, operation.bytes);
  return "";
}

/// What a GPU answers to what the simulator found, which follows the text of
/// the instruction and the thread.
static Status statusOf(const std::string &report) {
  size_t found = report.rfind("): ");
  auto says = [&](const char *words) {
    return report.find(words, found == std::string::npos ? 0 : found) !=
           std::string::npos;
  };
  if (says("which is no multiple of"))
    return MisalignedAddress;
  if (says("past the end") || says("were freed") || says("bytes before") ||
      says("nothing was allocated"))
    return IllegalAddress;
  return says("hangs") ? LaunchTimeout : LaunchFailed;
}

static std::string launch(Driver &driver, sim::Memory &memory,
                          Operation &operation, Status &status) {
  auto *function = driver.find<Function>(operation.function);
  if (!function) {
    status = InvalidHandle;
    return "the module of the kernel was unloaded before it ran";
  }
  operation.launch.seed = uint32_t(driver.random());
  std::string report = sim::run(*function->kernel, memory, operation.launch);
  if (!report.empty())
    status = statusOf(report);
  return report;
}

static void record(Driver &driver, Operation &operation) {
  using Clock = std::chrono::steady_clock;
  std::chrono::duration<double> now = Clock::now().time_since_epoch();
  if (auto *event = driver.find<Event>(operation.event))
    event->seconds = now.count();
}

std::string fake::perform(Driver &driver, Handle context, Operation &operation,
                          Status &status) {
  sim::Memory &memory = driver.memoryOf(context);
  std::string wrong;
  switch (operation.kind) {
  case Operation::CopyIn:
    wrong = copyIn(memory, operation);
    break;
  case Operation::CopyOut:
    wrong = copyOut(memory, operation);
    break;
  case Operation::CopyDevice:
    wrong = copyDevice(memory, operation);
    break;
  case Operation::Fill:
    wrong = fill(memory, operation);
    break;
  case Operation::Launch:
    return launch(driver, memory, operation, status);
  case Operation::Record:
    record(driver, operation);
    break;
  case Operation::Wait:
    break; // It was what the operation comes after.
  }
  if (!wrong.empty())
    status = IllegalAddress;
  return wrong;
}
