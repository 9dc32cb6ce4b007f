//===- Queue.h - Work of streams, and when it is done ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TENON_TEST_GPU_DRIVER_QUEUE_H
#define TENON_TEST_GPU_DRIVER_QUEUE_H

#include "test/gpu/driver/Driver.h"

namespace fake {

/// Appends an operation to a stream, or to what is captured of it. Where the
/// queue is eager, it is done at once; its failure is the context's.
void issue(Driver &driver, Stream &stream, Operation operation);

/// Does the work of a stream until it has done `ticket` operations, and what
/// those wait for in others. The context's status.
Status finish(Driver &driver, Stream &stream, uint64_t ticket);
Status finishStream(Driver &driver, Stream &stream);
Status finishContext(Driver &driver, Handle context);

/// Does some of the work there is; which is a matter of chance.
void doSomeWork(Driver &driver);

/// Whether an event's record was done.
bool isDone(Driver &driver, const Event &event);

/// The call of pending work that touches an allocation or a host block, or "".
std::string pendingUse(Driver &driver, Address allocation, uint64_t bytes);
std::string pendingHostUse(Driver &driver, const void *host, uint64_t bytes);
std::string pendingUseOfModule(Driver &driver, const Module &module);

/// Does one operation. Empty, or what is wrong with it; `status` is then what
/// the context answers from now on.
std::string perform(Driver &driver, Handle context, Operation &operation,
                    Status &status);

/// Whether the bytes can be read, or written, by this process.
bool isReadable(const void *host, uint64_t bytes);
bool isWritable(void *host, uint64_t bytes);

/// What is left in memory that nobody wrote yet: not a number in any float
/// type, and no small integer.
void poison(void *host, uint64_t bytes);

} // namespace fake

#endif // TENON_TEST_GPU_DRIVER_QUEUE_H
