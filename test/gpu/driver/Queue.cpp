//===- Queue.cpp - Work of streams, and when it is done -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/driver/Queue.h"

#include <algorithm>
#include <cstring>

using namespace fake;

namespace {
bool overlaps(uint64_t a, uint64_t aBytes, uint64_t b, uint64_t bBytes) {
  return a < b + bBytes && b < a + aBytes;
}

uint64_t number(const void *pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

/// Visits what is queued and not done, in all streams.
template <typename Visit> void eachPending(Driver &driver, Visit &&visit) {
  driver.each<Stream>([&](Stream &stream) {
    for (const Operation &operation : stream.queue)
      visit(operation);
  });
}

bool isHostPending(Driver &driver, Operation::Kind kind, const void *host,
                   uint64_t bytes) {
  bool found = false;
  eachPending(driver, [&](const Operation &other) {
    found |= other.kind == kind &&
             overlaps(number(host), bytes, number(other.host), other.bytes);
  });
  return found;
}

/// What the bytes are now, so that a change before they are copied shows.
uint64_t checksum(const void *host, uint64_t bytes) {
  auto *data = static_cast<const unsigned char *>(host);
  uint64_t sum = bytes, word = 0;
  for (; bytes >= 8; bytes -= 8, data += 8) {
    memcpy(&word, data, 8);
    sum = (sum ^ word) * 0x9e3779b97f4a7c15;
    sum ^= sum >> 29;
  }
  word = 0;
  memcpy(&word, data, bytes);
  sum = (sum ^ word) * 0x9e3779b97f4a7c15;
  return sum ^ sum >> 31;
}

/// What waits, waits in a state that gives mistakes of the host away: copies
/// to it leave its bytes as nobody wants them, copies from it know theirs.
void prepareHost(Driver &driver, Operation &operation) {
  if (operation.kind == Operation::CopyIn &&
      !isHostPending(driver, Operation::CopyOut, operation.host,
                     operation.bytes) &&
      isReadable(operation.host, operation.bytes)) {
    operation.checked = true;
    operation.checksum = checksum(operation.host, operation.bytes);
  }
  if (operation.kind == Operation::CopyOut &&
      !isHostPending(driver, Operation::CopyIn, operation.host,
                     operation.bytes) &&
      isWritable(operation.host, operation.bytes))
    poison(operation.host, operation.bytes);
}

/// The default stream waits for all blocking streams, and they for it.
void orderWithDefault(Driver &driver, const Stream &stream,
                      Operation &operation) {
  Handle defaultStream = driver.find<Context>(stream.context)->defaultStream;
  if (!stream.blocking)
    return;
  driver.each<Stream>([&](Stream &other) {
    bool waits =
        stream.handle == defaultStream || other.handle == defaultStream;
    if (waits && &other != &stream && other.blocking &&
        other.context == stream.context && other.done < other.issued)
      operation.after.push_back({other.handle, other.issued});
  });
}
} // namespace

void fake::issue(Driver &driver, Stream &stream, Operation operation) {
  if (stream.capture == CaptureActive) {
    stream.captured.push_back(std::move(operation));
    return;
  }
  if (driver.settings.queue != Order::Eager)
    prepareHost(driver, operation);
  orderWithDefault(driver, stream, operation);
  stream.queue.push_back(std::move(operation));
  ++stream.issued;
  if (driver.settings.queue == Order::Eager)
    finish(driver, stream, stream.issued);
}

static void doFirst(Driver &driver, Stream &stream) {
  // It stays in the queue while others are done first: they may look.
  std::vector<After> after = stream.queue.front().after;
  for (const After &wait : after)
    if (auto *other = driver.find<Stream>(wait.stream))
      finish(driver, *other, wait.ticket);
  Operation operation = std::move(stream.queue.front());
  stream.queue.pop_front();
  ++stream.done;
  Context &context = *driver.find<Context>(stream.context);
  if (context.broken != Success)
    return;
  std::string wrong;
  if (operation.kind == Operation::CopyIn && operation.checked &&
      isReadable(operation.host, operation.bytes) &&
      checksum(operation.host, operation.bytes) != operation.checksum)
    driver.violate(operation.call + ": the host changed the bytes before " +
                   "they were copied: synchronise first");
  Status status = Success;
  wrong = perform(driver, context.handle, operation, status);
  if (!wrong.empty())
    driver.violate(operation.call + ": " + wrong);
  if (status != Success)
    context.broken = status;
}

Status fake::finish(Driver &driver, Stream &stream, uint64_t ticket) {
  while (stream.done < ticket && !stream.queue.empty())
    doFirst(driver, stream);
  return driver.find<Context>(stream.context)->broken;
}

Status fake::finishStream(Driver &driver, Stream &stream) {
  return finish(driver, stream, stream.issued);
}

Status fake::finishContext(Driver &driver, Handle context) {
  driver.each<Stream>([&](Stream &stream) {
    if (stream.context == context)
      finishStream(driver, stream);
  });
  return driver.find<Context>(context)->broken;
}

void fake::doSomeWork(Driver &driver) {
  driver.each<Stream>([&](Stream &stream) {
    while (!stream.queue.empty() && driver.random() % 3 == 0)
      doFirst(driver, stream);
  });
}

bool fake::isDone(Driver &driver, const Event &event) {
  auto *stream = event.stream ? driver.find<Stream>(event.stream) : nullptr;
  return !stream || stream->done >= event.ticket;
}

std::string fake::pendingUse(Driver &driver, Address allocation,
                             uint64_t bytes) {
  std::string user;
  eachPending(driver, [&](const Operation &operation) {
    bool uses =
        std::count(operation.uses.begin(), operation.uses.end(), allocation);
    uses |= operation.to &&
            overlaps(operation.to, operation.bytes, allocation, bytes);
    uses |= operation.from &&
            overlaps(operation.from, operation.bytes, allocation, bytes);
    if (uses)
      user = operation.call;
  });
  return user;
}

std::string fake::pendingHostUse(Driver &driver, const void *host,
                                 uint64_t bytes) {
  std::string user;
  eachPending(driver, [&](const Operation &operation) {
    if (operation.host &&
        overlaps(number(operation.host), operation.bytes, number(host), bytes))
      user = operation.call;
  });
  return user;
}

std::string fake::pendingUseOfModule(Driver &driver, const Module &module) {
  std::string user;
  eachPending(driver, [&](const Operation &operation) {
    for (auto &[name, function] : module.functions)
      if (operation.function == function)
        user = operation.call;
  });
  return user;
}
