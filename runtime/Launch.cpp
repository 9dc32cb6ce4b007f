//===- Launch.cpp - Run one kernel, split over threads --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows are split into pieces, as many for each participant. Whatever a piece
// holds, kernels compute a row alike, so that results do not depend on the
// number of threads. Each participant takes the pieces of its own part in order
// (the same rows as in the last launch, which its cache may hold), then those
// that others have not yet begun.
//
//===----------------------------------------------------------------------===//

#include "runtime/Error.h"
#include "runtime/FloatMode.h"
#include "runtime/Math.h"
#include "runtime/Session.h"
#include <string.h>

using namespace tenon::runtime;

namespace {
/// By grain; and of launches that have one for each thread.
constexpr int64_t maxPieces = 64, maxParts = tenon_session_t::mostPieces;
/// What is worth a thread's while: some microseconds.
constexpr int64_t leastOperations = 400000, leastBytes = 65536;
/// Bytes between the scratch memory of one thread and the next one's. Side by
/// side, each fetches lines ahead that the other writes, and waits for them: a
/// convolution of 0.55 ms took two threads 0.49, with a page between them 0.28.
constexpr int64_t betweenThreads = 4096;

/// Kernels get through pieces together; a participant that comes late finds
/// all of them taken.
struct Job {
  struct alignas(64) Part { // Left uninitialised: a launch uses few.
    uint32_t next, end;
  };

  tenon_kernel_fn_t kernel;
  void *const *buffers;
  const int64_t *parameters;
  int64_t perPiece;  // Rows of each piece,
  uint32_t leftOver; // and of some one more: so many in all.
  uint32_t pieces, parts;
  char *scratch;
  uint64_t scratchStride;
  char *shared;
  int64_t cacheWays;
  // The failing piece << 32 | its fault: the first by position, whoever ran.
  std::atomic<uint64_t> fault{UINT64_MAX};
  Part part[maxParts];

  /// Rows more are spread over the pieces, the last of which has one: the last
  /// rows often have less to do, as panels and blocks of what is left over.
  int64_t begin(uint32_t piece) const {
    return piece * perPiece + piece * leftOver / pieces;
  }

  // The sanitizer would look for a type before the kernel's first byte.
  __attribute__((no_sanitize("function"))) void
  runPiece(uint32_t piece, const tenon_kernel_context_t &context) {
    uint32_t code = uint32_t(
        kernel(buffers, parameters, begin(piece), begin(piece + 1), &context));
    if (__builtin_expect(code == 0, true))
      return;
    uint64_t mine = uint64_t(piece) << 32 | code;
    uint64_t first = fault.load(std::memory_order_relaxed);
    while (mine < first && !fault.compare_exchange_weak(
                               first, mine, std::memory_order_relaxed)) {
    }
  }

  tenon_kernel_context_t context(uint32_t participant) const {
    return {scratch + participant * scratchStride,
            unaryMath,
            binaryMath,
            unaryMathF32,
            binaryMathF32,
            shared,
            cacheWays};
  }

  void split() {
    for (uint32_t i = 0; i < parts; ++i) {
      part[i].next = pieces * i / parts;
      part[i].end = pieces * (i + 1) / parts;
    }
  }

  void runAll() {
    tenon_kernel_context_t here = context(0);
    for (uint32_t piece = 0; piece < pieces; ++piece)
      runPiece(piece, here);
  }

  void runEach(uint64_t *nanoseconds) {
    tenon_kernel_context_t here = context(0);
    for (uint32_t piece = 0; piece < pieces; ++piece) {
      uint64_t start = nanosecondsNow();
      runPiece(piece, here);
      nanoseconds[piece] = nanosecondsNow() - start;
    }
  }

  static void take(void *self, int32_t participant) {
    auto *job = static_cast<Job *>(self);
    tenon_kernel_context_t here = job->context(uint32_t(participant));
    for (uint32_t i = 0; i < job->parts; ++i) {
      Part &part = job->part[(uint32_t(participant) + i) % job->parts];
      std::atomic_ref<uint32_t> next(part.next);
      while (next.load(std::memory_order_relaxed) < part.end) {
        uint32_t piece = next.fetch_add(1, std::memory_order_relaxed);
        if (piece < part.end)
          job->runPiece(piece, here);
      }
    }
  }

  /// For threads of the host, in whatever mode they are.
  static void takeAsGuest(void *self, int32_t participant) {
    FloatMode mode;
    take(self, participant);
  }
};

const char *faultSentence(uint32_t code) {
  switch (code & 0xff) {
  case TENON_FAULT_INDEX:
    return "an index lies outside its axis";
  case TENON_FAULT_DIVIDE:
    return "an integer is divided by zero";
  case TENON_FAULT_COUNT:
    return "a count or size cannot be met";
  case TENON_FAULT_VALUE:
    return "a value is not allowed here";
  }
  return "its kernel failed for an unknown reason; please report this";
}
} // namespace

tenon_status_t tenon_session_t::fault(const tenon_step_t &step,
                                      uint32_t code) const {
  return fail(TENON_FAILED, "%s: %s", Subject(*this, step, code >> 8).text,
              faultSentence(code));
}

/// Makes room for the scratch memory of `users` threads and what they share.
tenon_status_t tenon_session_t::reserveScratch(const tenon_step_t &step,
                                               uint64_t users, uint64_t &stride,
                                               uint64_t &shared) {
  int64_t bytes, common = 0;
  if (tenon_status_t status =
          size(step, "the scratch memory it needs", step.d, bytes))
    return status;
  if (step.shared)
    if (tenon_status_t status = size(step, "the memory that its pieces share",
                                     step.shared - 1, common))
      return status;
  stride = shared = 0;
  if (bytes == 0 && common == 0)
    return TENON_OK;
  uint64_t all;
  bool fits = bytes >= 0 && common >= 0 &&
              bytes <= INT64_MAX - TENON_BUFFER_ALIGN - betweenThreads;
  if (fits) {
    stride = (uint64_t(bytes) + TENON_BUFFER_ALIGN - 1) / TENON_BUFFER_ALIGN *
                 TENON_BUFFER_ALIGN +
             (bytes > 0 && users > 1 && !device ? betweenThreads : 0);
    shared = uint64_t(common);
    fits = !__builtin_mul_overflow(stride, users, &all);
    if (device)
      fits = fits && grow(scratch, all) && growShared(shared);
    else
      fits = fits && !__builtin_add_overflow(all, shared, &all) &&
             grow(scratch, all);
  }
  if (fits)
    return TENON_OK;
  if (shared > 0)
    return fail(TENON_OUT_OF_MEMORY,
                "%s: it needs %lld bytes of memory that its pieces share, over "
                "the session's limit of %llu%s",
                Subject(*this, step).text, static_cast<long long>(common),
                static_cast<unsigned long long>(budget.limit), orOfDevice());
  return fail(TENON_OUT_OF_MEMORY,
              "%s: it needs %lld bytes of scratch memory for each of %llu "
              "threads, over the session's limit of %llu%s",
              Subject(*this, step).text, static_cast<long long>(bytes),
              static_cast<unsigned long long>(users),
              static_cast<unsigned long long>(budget.limit), orOfDevice());
}

/// By grain, which is what a kernel likes best, but as many for each thread:
/// what is left over would keep one of them at work alone. Where that would
/// leave threads without any, one for each that has enough to do.
uint32_t tenon_session_t::piecesOf(const tenon_step_t &step, int64_t rows,
                                   int64_t grain) {
  int64_t wanted = threads < maxParts ? threads : maxParts;
  int64_t most = wanted > maxPieces ? wanted : maxPieces;
  int64_t pieces = grain > rows ? 1 : grain > 1 ? rows / grain : rows;
  if (pieces >= wanted) {
    uint32_t count = uint32_t(pieces < most ? pieces : most);
    return count - count % uint32_t(wanted);
  }
  if (rows > pieces && model->metadata.costs.count != 0) {
    const tenon_cost_t &known =
        model->metadata.costs[&step - model->metadata.steps.data];
    int64_t worth = cost(known.flops) / leastOperations;
    for (uint32_t moved : {known.weight_bytes, known.bytes}) {
      int64_t byBytes = cost(moved) / leastBytes;
      worth = worth > byBytes ? worth : byBytes;
    }
    worth = worth < rows ? worth : rows;
    worth = worth < wanted ? worth : wanted;
    pieces = pieces > worth ? pieces : worth;
  }
  return uint32_t(pieces);
}

tenon_status_t tenon_session_t::launch(const tenon_step_t &step) {
  int64_t rows, grain;
  if (tenon_status_t status = size(step, "its rows", step.b, rows))
    return status;
  if (tenon_status_t status = size(step, "its grain", step.c, grain))
    return status;
  if (rows <= 0)
    return rows == 0
               ? TENON_OK
               : fail(TENON_FAILED, "%s: it would have %lld rows",
                      Subject(*this, step).text, static_cast<long long>(rows));
  for (uint32_t i = 0; i < step.buffer_count; ++i) {
    if (tenon_status_t status = resolve(step, i, operands[i]))
      return status;
    pointers[i] = operands[i].data;
  }
  const uint32_t *params = model->metadata.params.data + step.first_param;
  for (uint32_t i = 0; i < step.param_count; ++i)
    if (tenon_status_t status =
            size(step, "a parameter", params[i], parameters[i]))
      return status;

  if (device)
    return launchOnDevice(step, rows, grain);
  Job job;
  job.kernel = model->functions[step.a];
  job.cacheWays = model->cacheWays;
  job.buffers = pointers.begin();
  job.parameters = parameters.begin();
  job.pieces = piecesOf(step, rows, grain);
  job.perPiece = rows / job.pieces;
  job.leftOver = uint32_t(rows % job.pieces);
  job.parts = threads < job.pieces ? threads : job.pieces;
  uint64_t shared;
  if (tenon_status_t status =
          reserveScratch(step, threads, job.scratchStride, shared))
    return status;
  job.scratch = scratch.get();
  job.shared = shared ? job.scratch + job.scratchStride * threads : nullptr;
  if (shared)
    memset(job.shared, 0,
           shared < TENON_SHARED_ZEROS ? shared : TENON_SHARED_ZEROS);

  uint64_t start = observer ? nanosecondsNow() : 0;
  if (pieceNanoseconds.size() > 0) {
    job.runEach(pieceNanoseconds.begin());
  } else if (job.parts == 1) {
    job.runAll();
  } else {
    job.split();
    if (parallelFor)
      parallelFor(parallelUser, int32_t(job.parts), Job::takeAsGuest, &job);
    else
      pool.run(Job::take, &job, job.parts - 1);
  }
  uint64_t failed = job.fault.load(std::memory_order_relaxed);
  if (failed != UINT64_MAX)
    return fault(step, uint32_t(failed));
  if (observer)
    observe(step, rows, job.pieces, start, nanosecondsNow() - start);
  return TENON_OK;
}

/// The value of expression `number` - 1; -1 where there is none.
int64_t tenon_session_t::cost(uint32_t number) {
  int64_t value;
  if (number == 0 || formula(number - 1, value) != ExpressionFault::None)
    return -1;
  return value < 0 ? -1 : value;
}

void tenon_session_t::observe(const tenon_step_t &step, int64_t rows,
                              uint32_t pieces, uint64_t start,
                              uint64_t nanoseconds) {
  tenon_launch_t launch = {};
  launch.struct_size = sizeof launch;
  launch.step = uint32_t(&step - model->metadata.steps.data);
  launch.kernel = step.a;
  launch.kernel_name =
      model->metadata.text(model->metadata.kernels[step.a].name);
  launch.nodes = model->nodeNames.begin() + step.first_node;
  launch.node_count = step.node_count;
  launch.operand_count = step.buffer_count;
  launch.parameter_count = step.param_count;
  launch.pieces = pieces;
  launch.operands = operands.begin();
  launch.parameters = parameters.begin();
  if (pieceNanoseconds.size() > 0)
    launch.piece_nanoseconds = pieceNanoseconds.begin();
  launch.rows = rows;
  launch.nanoseconds = nanoseconds;
  launch.start = start;
  tenon_cost_t known = {};
  if (model->metadata.costs.count != 0)
    known = model->metadata.costs[launch.step];
  launch.flops = cost(known.flops);
  launch.flops_dtype = known.dtype;
  launch.weight_bytes = cost(known.weight_bytes);
  launch.bytes = cost(known.bytes);
  observer(observerUser, &launch);
}
