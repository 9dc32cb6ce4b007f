//===- Launch.cpp - Kernels, their threads and their faults ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/runtime/TinyModels.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <chrono>
#include <cmath>
#include <thread>
#include <xmmintrin.h>

using namespace tenon;
using namespace tenon::test;

namespace {
std::vector<int64_t> gather(Loaded &model, std::vector<int64_t> x,
                            std::vector<int64_t> index,
                            tenon_status_t status = TENON_OK) {
  std::vector<tenon_tensor_t> outputs = {result()};
  EXPECT_EQ(
      model.run({tensor(TENON_I64, {int64_t(x.size())}, x.data()),
                 tensor(TENON_I64, {int64_t(index.size())}, index.data())},
                outputs),
      status)
      << lastError();
  auto *data = static_cast<int64_t *>(outputs[0].data);
  return status ? std::vector<int64_t>()
                : std::vector(data, data + index.size());
}

TEST(Launch, FaultsNameTheNode) {
  for (int threads : {1, 2, 4}) {
    tenon_session_options_t options = withThreads(threads);
    Loaded model(gatherModel(), &options);
    EXPECT_EQ(gather(model, {10, 20}, {1, 0}), (std::vector<int64_t>{50, 100}));
    gather(model, {10, 20}, {1, 2}, TENON_FAILED);
    EXPECT_EQ(lastError(), "node \"pick\": an index lies outside its axis");
    gather(model, {10, 0}, {0, 1}, TENON_FAILED);
    EXPECT_EQ(lastError(), "node \"divide\": an integer is divided by zero");
    // Of many faults the first by position counts, whichever thread ran it.
    std::vector<int64_t> index(1000, 5);
    index[0] = 1;
    for (int round = 0; round < 50; ++round) {
      gather(model, {10, 0}, index, TENON_FAILED);
      EXPECT_EQ(lastError(), "node \"divide\": an integer is divided by zero");
    }
    EXPECT_EQ(gather(model, {10}, {0}), (std::vector<int64_t>{100}));
  }
}

/// Where the piece of each row begins.
std::vector<int64_t> pieces(ArtifactBuilder builder, int64_t rows,
                            const tenon_session_options_t &options) {
  Loaded model(std::move(builder), &options);
  std::vector<int8_t> x(rows);
  std::vector<tenon_tensor_t> outputs = {result()};
  EXPECT_EQ(model.run({tensor(TENON_I8, {rows}, x.data())}, outputs), TENON_OK);
  auto *data = static_cast<int64_t *>(outputs[0].data);
  return {data, data + rows};
}

/// How many rows each piece has.
std::vector<int64_t> sizesOfPieces(ArtifactBuilder builder, int64_t rows,
                                   int threads) {
  std::vector<int64_t> all =
      pieces(std::move(builder), rows, withThreads(threads));
  std::vector<int64_t> sizes;
  for (int64_t row = 0; row < rows; ++row)
    if (all[row] == row)
      sizes.push_back(1);
    else
      ++sizes.back();
  return sizes;
}

TEST(Launch, EachThreadHasAsManyPieces) {
  for (int64_t rows : {0, 1, 2, 63, 64, 65, 100, 1000, 4099})
    for (int64_t grain : {-1, 0, 1, 3, 64, 5000})
      for (int threads : {1, 2, 3, 4, 16, 70}) {
        std::vector<int64_t> sizes =
            sizesOfPieces(piecesModel(grain), rows, threads);
        int64_t count = int64_t(sizes.size());
        int64_t byGrain = rows / std::max<int64_t>(grain, 1);
        std::string what = std::to_string(rows) + " rows of grain " +
                           std::to_string(grain) + " on " +
                           std::to_string(threads) + " threads";
        if (byGrain < threads) {
          EXPECT_EQ(count, rows ? std::max<int64_t>(byGrain, 1) : 0) << what;
          continue;
        }
        EXPECT_EQ(count % threads, 0) << what;
        EXPECT_LE(count, std::min<int64_t>(byGrain, std::max(threads, 64)))
            << what;
        // No thread has more than its share, but the later ones a row.
        int64_t before = 0;
        for (int64_t i = 0; i < count; ++i) {
          EXPECT_GE(sizes[i], grain) << what;
          before += sizes[i];
          EXPECT_EQ(before, rows * (i + 1) / count) << what;
        }
      }
}

/// Rows of such a launch cost `flops` operations each, and all of them
/// `weightBytes` and `bytes`.
ArtifactBuilder costlyModel(int64_t grain, int64_t flops, int64_t weightBytes,
                            int64_t bytes = 0) {
  ArtifactBuilder b = piecesModel(grain);
  b.costs.resize(b.steps.size());
  b.costs.back() = {b.linear(0, flops) + 1, TENON_F32,
                    b.constant(weightBytes) + 1, b.constant(bytes) + 1};
  return b;
}

TEST(Launch, IdleThreadsGetPiecesBelowTheGrain) {
  auto count = [](ArtifactBuilder b, int threads) {
    return sizesOfPieces(std::move(b), 32, threads).size();
  };
  // As many as the grain gives are enough for so few threads.
  EXPECT_EQ(count(costlyModel(16, 1000000, 0), 1), 2u);
  EXPECT_EQ(count(costlyModel(16, 1000000, 0), 2), 2u);
  EXPECT_EQ(count(costlyModel(16, 1000000, 0), 4), 4u);
  EXPECT_EQ(count(costlyModel(16, 1000000, 0), 7), 7u);
  // A piece has a row, and some microseconds to do.
  EXPECT_EQ(count(costlyModel(16, 1000000, 0), 100), 32u);
  EXPECT_EQ(count(costlyModel(16, 100000, 0), 16), 8u);
  EXPECT_EQ(count(costlyModel(16, 1000, 0), 16), 2u);
  // To read counts, too, and to write.
  EXPECT_EQ(count(costlyModel(16, 1000, 1000000), 16), 15u);
  EXPECT_EQ(count(costlyModel(16, 0, 0, 500000), 16), 7u);
  EXPECT_EQ(count(costlyModel(100, 0, 0, 500000), 2), 2u);
  EXPECT_EQ(count(costlyModel(100, 0, 0, 65536), 2), 1u);
  // Costs that nobody can compute say nothing.
  EXPECT_EQ(count(costlyModel(16, INT64_MAX, -1), 16), 2u);
  EXPECT_EQ(count(piecesModel(16), 16), 2u);
}

ArtifactBuilder scratchModel() {
  ArtifactBuilder b;
  uint32_t n = b.symbol("n");
  b.input("x", TENON_I64, {b.size(n)});
  b.output("y", TENON_I64, {b.constant(200)});
  b.launch({b.kernel("through_scratch"),
            b.constant(200),
            {b.at(TENON_PLACE_INPUT, 0, b.linear(n, 8)),
             b.at(TENON_PLACE_OUTPUT, 0, b.constant(1600))},
            {b.size(n)},
            {"sum"},
            UINT32_MAX,
            b.linear(n, 8)});
  return b;
}

void expectScratchWorks(const tenon_session_options_t &options) {
  Loaded model(scratchModel(), &options);
  for (int64_t count : {1, 100, 30, 1000, 7}) {
    std::vector<int64_t> x(count, 1);
    std::vector<tenon_tensor_t> outputs = {result()};
    ASSERT_EQ(model.run({tensor(TENON_I64, {count}, x.data())}, outputs),
              TENON_OK)
        << lastError();
    for (int64_t i = 0; i < 200; ++i)
      ASSERT_EQ(static_cast<int64_t *>(outputs[0].data)[i], count * (1 + i));
  }
}

TEST(Launch, EachThreadHasItsScratch) {
  for (int threads : {1, 2, 4, 7})
    expectScratchWorks(withThreads(threads));
}

// No thread fetches ahead what another one writes.
TEST(Launch, ScratchOfThreadsIsAPageApart) {
  for (int threads : {1, 4}) {
    tenon_session_options_t options = withThreads(threads);
    Loaded model(scratchModel(), &options);
    std::vector<int64_t> x(8, 1);
    std::vector<tenon_tensor_t> outputs = {result()};
    ASSERT_EQ(model.run({tensor(TENON_I64, {8}, x.data())}, outputs), TENON_OK)
        << lastError();
    uint64_t apart = threads > 1 ? 4096 : 0;
    EXPECT_GE(model.session.info().scratch_bytes, threads * (64 + apart));
    EXPECT_LT(model.session.info().scratch_bytes, threads * (128 + apart));
  }
}

TEST(Launch, ScratchCountsAgainstTheLimit) {
  tenon_session_options_t options = withThreads(2);
  options.memory_limit = 10000;
  Loaded model(scratchModel(), &options);
  std::vector<int64_t> x(5000, 1);
  std::vector<tenon_tensor_t> outputs = {result()};
  EXPECT_EQ(model.run({tensor(TENON_I64, {5000}, x.data())}, outputs),
            TENON_OUT_OF_MEMORY);
  EXPECT_EQ(
      lastError(),
      "node \"sum\": it needs 40000 bytes of scratch memory for each of 2 "
      "threads, over the session's limit of 10000");
}

ArtifactBuilder sharedModel() {
  ArtifactBuilder b;
  uint32_t n = b.symbol("n");
  b.input("x", TENON_I64, {b.size(n)});
  b.output("y", TENON_I64, {b.constant(1)});
  b.launch({b.kernel("through_shared"),
            b.size(n),
            {b.at(TENON_PLACE_INPUT, 0, b.linear(n, 8)),
             b.at(TENON_PLACE_OUTPUT, 0, b.constant(8))},
            {b.size(n)},
            {"sum"},
            UINT32_MAX,
            b.constant(24),
            b.linear(n, 8, TENON_SHARED_ZEROS)});
  return b;
}

TEST(Launch, PiecesShareMemory) {
  for (int threads : {1, 2, 4}) {
    tenon_session_options_t options = withThreads(threads);
    Loaded model(sharedModel(), &options);
    // What an earlier run counted is forgotten.
    for (int64_t count : {1, 100, 30, 1000, 7}) {
      std::vector<int64_t> x(count, 3);
      std::vector<tenon_tensor_t> outputs = {result()};
      ASSERT_EQ(model.run({tensor(TENON_I64, {count}, x.data())}, outputs),
                TENON_OK)
          << lastError();
      EXPECT_EQ(*static_cast<int64_t *>(outputs[0].data), 3 * count);
    }
  }
}

TEST(Launch, SharedMemoryCountsAgainstTheLimit) {
  tenon_session_options_t options = withThreads(2);
  options.memory_limit = 10000;
  Loaded model(sharedModel(), &options);
  std::vector<int64_t> x(5000, 1);
  std::vector<tenon_tensor_t> outputs = {result()};
  EXPECT_EQ(model.run({tensor(TENON_I64, {5000}, x.data())}, outputs),
            TENON_OUT_OF_MEMORY);
  EXPECT_EQ(lastError(), "node \"sum\": it needs 40512 bytes of memory that "
                         "its pieces share, over the session's limit of 10000");
}

/// A host that runs parts in threads of its own, backwards.
void hostParallelFor(void *user, int32_t count,
                     void (*body)(void *job, int32_t i), void *job) {
  ++*static_cast<int *>(user);
  std::vector<std::thread> threads;
  for (int32_t i = count; i-- > 1;)
    threads.emplace_back(body, job, i);
  body(job, 0);
  for (std::thread &thread : threads)
    thread.join();
}

TEST(Launch, AHostMayBringItsThreads) {
  int calls = 0;
  tenon_session_options_t options = withThreads(3);
  options.parallel_for = hostParallelFor;
  options.parallel_user = &calls;
  expectScratchWorks(options);
  EXPECT_EQ(calls, 5);
  EXPECT_EQ(pieces(piecesModel(3), 1000, options),
            pieces(piecesModel(3), 1000, withThreads(3)));
}

TEST(Launch, PiecesRunOneByOneWhereTheirTimesAreAskedFor) {
  tenon_session_options_t options = withThreads(64);
  options.one_by_one = 1;
  expectScratchWorks(options);
  EXPECT_EQ(pieces(piecesModel(3), 1000, options),
            pieces(piecesModel(3), 1000, withThreads(64)));

  struct Seen {
    std::thread::id thread = std::this_thread::get_id();
    int launches = 0;
  } seen;
  auto observer = [](void *user, const tenon_launch_t *launch) {
    auto *seen = static_cast<Seen *>(user);
    ++seen->launches;
    EXPECT_EQ(std::this_thread::get_id(), seen->thread);
    EXPECT_EQ(launch->pieces, 8u);
    ASSERT_NE(launch->piece_nanoseconds, nullptr);
    uint64_t all = 0;
    for (uint32_t i = 0; i < launch->pieces; ++i)
      all += launch->piece_nanoseconds[i];
    EXPECT_LE(all, launch->nanoseconds);
  };
  options.threads = 8;
  Loaded model(piecesModel(1), &options);
  ASSERT_EQ(tenon_session_set_observer(model.session.get(), observer, &seen),
            TENON_OK);
  int8_t x[8] = {};
  std::vector<tenon_tensor_t> outputs = {result()};
  ASSERT_EQ(model.run({tensor(TENON_I8, {8}, x)}, outputs), TENON_OK)
      << lastError();
  EXPECT_EQ(seen.launches, 1);
}

TEST(Launch, KernelsGetTheMathTheyAskFor) {
  ArtifactBuilder b;
  b.input("x", TENON_F64, {b.constant(2)});
  b.output("y", TENON_F64, {b.constant(38)});
  b.launch({b.kernel("math"),
            b.constant(1),
            {b.at(TENON_PLACE_INPUT, 0, b.constant(16)),
             b.at(TENON_PLACE_OUTPUT, 0, b.constant(38 * 8))}});
  Loaded model(b);
  for (double x : {0.5, 1.25}) {
    double data[2] = {x, 0.75};
    double wanted[] = {acos(x),  acosh(x), asin(x),      asinh(x),     atan(x),
                       atanh(x), cos(x),   cosh(x),      erf(x),       exp(x),
                       expm1(x), log(x),   log1p(x),     sin(x),       sinh(x),
                       tan(x),   tanh(x),  pow(x, 0.75), fmod(x, 0.75)};
    std::vector<tenon_tensor_t> outputs = {result()};
    ASSERT_EQ(model.run({tensor(TENON_F64, {2}, data)}, outputs), TENON_OK);
    auto *y = static_cast<double *>(outputs[0].data);
    for (int i = 0; i < 19; ++i) {
      if (std::isnan(wanted[i])) {
        EXPECT_TRUE(std::isnan(y[2 * i]) && std::isnan(y[2 * i + 1])) << i;
        continue;
      }
      EXPECT_EQ(y[2 * i], wanted[i]) << i;
      EXPECT_NEAR(y[2 * i + 1], wanted[i], 1e-6 * std::abs(wanted[i])) << i;
    }
  }
}

TEST(Launch, TheCallersFloatModeNeitherMattersNorChanges) {
  for (int threads : {1, 2}) {
    tenon_session_options_t options = withThreads(threads);
    Loaded model(scaleModel(), &options);
    std::vector<float> x(4000, 1e-40f); // A denormal.
    unsigned before = _mm_getcsr();
    unsigned flushing = before | 0x8040; // FTZ and DAZ
    _mm_setcsr(flushing);
    fesetround(FE_UPWARD);
    unsigned upward = _mm_getcsr();
    std::vector<tenon_tensor_t> outputs = {result()};
    tenon_status_t status =
        model.run({tensor(TENON_F32, {1000, 4}, x.data())}, outputs);
    EXPECT_EQ(_mm_getcsr(), upward);
    EXPECT_EQ(fegetround(), FE_UPWARD);
    fesetround(FE_TONEAREST);
    _mm_setcsr(before);
    ASSERT_EQ(status, TENON_OK) << lastError();
    for (int i = 0; i < 4000; ++i)
      ASSERT_EQ(static_cast<float *>(outputs[0].data)[i], 2 * x[i]);
  }
}

struct Seen {
  std::vector<std::string> nodes;
  std::vector<float> first; // Of each launch's last operand.
};

TEST(Launch, AnObserverSeesEveryLaunch) {
  Loaded model(scaleModel());
  Seen seen;
  auto observer = [](void *user, const tenon_launch_t *launch) {
    auto *seen = static_cast<Seen *>(user);
    EXPECT_EQ(launch->struct_size, sizeof(tenon_launch_t));
    EXPECT_STREQ(launch->kernel_name, "scale");
    EXPECT_EQ(launch->operand_count, 3u);
    EXPECT_EQ(launch->rows, 8);
    EXPECT_EQ(launch->operands[2].bytes, 32u);
    seen->nodes.push_back(launch->nodes[0]);
    seen->first.push_back(*static_cast<float *>(launch->operands[2].data));
  };
  ASSERT_EQ(tenon_session_set_observer(model.session.get(), observer, &seen),
            TENON_OK);
  float x[8] = {1.5f};
  std::vector<tenon_tensor_t> outputs = {result()};
  ASSERT_EQ(model.run({tensor(TENON_F32, {2, 4}, x)}, outputs), TENON_OK);
  EXPECT_EQ(seen.nodes, (std::vector<std::string>{"first", "second"}));
  EXPECT_EQ(seen.first, (std::vector<float>{3.0f, 3.0f}));
  tenon_session_set_observer(model.session.get(), nullptr, nullptr);
  ASSERT_EQ(model.run({tensor(TENON_F32, {2, 4}, x)}, outputs), TENON_OK);
  EXPECT_EQ(seen.nodes.size(), 2u);
}

TEST(Launch, AnObserverLearnsWhatALaunchHadToDo) {
  ArtifactBuilder b = scaleModel();
  constexpr int64_t most = INT64_MAX;
  b.costs.resize(b.steps.size());
  b.costs[1] = {b.linear(0, 100) + 1, TENON_BF16, b.constant(16) + 1,
                b.linear(0, 16) + 1};
  b.costs[2] = {b.linear(0, most) + 1, 0, b.constant(-1) + 1, 0};
  Loaded model(b);
  std::vector<tenon_launch_t> seen;
  auto observer = [](void *user, const tenon_launch_t *launch) {
    static_cast<std::vector<tenon_launch_t> *>(user)->push_back(*launch);
  };
  ASSERT_EQ(tenon_session_set_observer(model.session.get(), observer, &seen),
            TENON_OK);
  float x[8] = {};
  std::vector<tenon_tensor_t> outputs = {result()};
  ASSERT_EQ(model.run({tensor(TENON_F32, {2, 4}, x)}, outputs), TENON_OK);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].flops, 200);
  EXPECT_EQ(seen[0].flops_dtype, uint32_t(TENON_BF16));
  EXPECT_EQ(seen[0].weight_bytes, 16);
  EXPECT_EQ(seen[0].bytes, 32);
  // What overflows, is negative or absent is not known.
  EXPECT_EQ(seen[1].flops, -1);
  EXPECT_EQ(seen[1].weight_bytes, -1);
  EXPECT_EQ(seen[1].bytes, -1);
  EXPECT_GE(seen[1].start, seen[0].start + seen[0].nanoseconds);
}

#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
TEST(Launch, CostsLessThanAMicrosecond) {
  constexpr int launches = 1000;
  ArtifactBuilder b;
  uint32_t n = b.symbol("n");
  b.input("x", TENON_I8, {b.size(n)});
  b.step(TENON_STEP_SEGMENT, b.segment(b.linear(n, 1024)));
  uint32_t pieces = b.kernel("pieces"), rows = b.size(n);
  for (int i = 0; i < launches; ++i) // Of two pieces each.
    b.launch({pieces,
              rows,
              {b.at(TENON_PLACE_ARENA, 0, b.linear(n, 8), b.linear(n, 64))},
              {b.linear(n, 3, i)},
              {},
              b.constant(8)});
  tenon_session_options_t options = withThreads(2);
  Loaded model(b, &options);
  int8_t x[16];
  tenon_tensor_t input = tensor(TENON_I8, {16}, x);
  std::chrono::nanoseconds best = std::chrono::seconds(1);
  for (int round = 0; round < 100; ++round) { // The machine may be busy.
    auto start = std::chrono::steady_clock::now();
    ASSERT_EQ(model.session.run({&input, 1}, {}), TENON_OK) << lastError();
    best = std::min<std::chrono::nanoseconds>(
        best, std::chrono::steady_clock::now() - start);
  }
  EXPECT_LT(best.count() / launches, 1000);
}
#endif

TEST(Launch, NegativeRowsAreAnError) {
  ArtifactBuilder b;
  b.launch({b.kernel("pieces"), b.constant(-1), {}, {}, {"rows"}});
  Loaded model(b);
  EXPECT_EQ(model.session.run({}, {}), TENON_FAILED);
  EXPECT_EQ(lastError(), "node \"rows\": it would have -1 rows");
}
} // namespace
