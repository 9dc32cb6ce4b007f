//===- Execute.cpp - Every kind of step -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/runtime/TinyModels.h"

#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::test;

namespace {
using B = ArtifactBuilder;

/// Runs a model of one i64 input "x" and one i64 output; returns the output.
std::vector<int64_t> run(Loaded &model, std::vector<int64_t> x,
                         tenon_status_t status = TENON_OK) {
  tenon_tensor_t input = tensor(TENON_I64, {int64_t(x.size())}, x.data());
  tenon_tensor_t output = result();
  EXPECT_EQ(model.session.run({&input, 1}, {&output, 1}), status)
      << lastError();
  if (status != TENON_OK)
    return {};
  auto *data = static_cast<int64_t *>(output.data);
  return {data, data + output.bytes / 8};
}

using Values = std::vector<int64_t>;

/// Input x[n], output y[m], where the tests say what m is.
struct Frame : B {
  uint32_t n = symbol("n"), m = symbol("m", 0, 100);
  uint32_t x = input("x", TENON_I64, {size(n)});
  uint32_t y = output("y", TENON_I64, {size(m)});
  tenon_buffer_t xs = at(TENON_PLACE_INPUT, 0, linear(n, 8));
  tenon_buffer_t ys = at(TENON_PLACE_OUTPUT, 0, linear(m, 8));
  tenon_buffer_t x0 = at(TENON_PLACE_INPUT, 0, constant(8));
};

TEST(Execute, BindReadsSizesFromData) {
  Frame f;
  f.step(TENON_STEP_BIND, f.m, 1, TENON_I64, {f.x0}, {"shape"});
  f.launch({f.kernel("pieces"), f.size(f.m), {f.ys}});
  Loaded model(f);
  EXPECT_EQ(run(model, {3}).size(), 3u);
  EXPECT_EQ(run(model, {0}).size(), 0u);
  EXPECT_EQ(run(model, {100, 5}).size(), 100u);
  run(model, {101}, TENON_FAILED);
  EXPECT_EQ(lastError(),
            "node \"shape\": the size m is 101, but must be from 0 to 100");
  run(model, {-1}, TENON_FAILED);
  run(model, {}, TENON_FAILED);
  EXPECT_EQ(lastError(),
            "node \"shape\": operand 0, 8 bytes at 0, lies outside "
            "its 0 bytes of memory");
  EXPECT_EQ(run(model, {2}).size(), 2u);
}

TEST(Execute, SetComputesSizes) {
  Frame f;
  f.step(TENON_STEP_SET, f.m, f.linear(f.n, 3, 1), 0, {}, {"grow"});
  Loaded model(f);
  EXPECT_EQ(run(model, {0, 0}), Values(7, 0)); // Never written: all zero.
  run(model, Values(40), TENON_FAILED);
  EXPECT_EQ(lastError(),
            "node \"grow\": the size m is 121, but must be from 0 to 100");
}

TEST(Execute, OverflowNamesTheNode) {
  Frame f;
  f.step(TENON_STEP_SET, f.m,
         f.expr({TENON_PUSH_SYMBOL, f.n, TENON_PUSH_CONSTANT, INT64_MAX,
                 TENON_MUL, TENON_PUSH_CONSTANT, 1, TENON_ADD}),
         0, {}, {"huge"});
  Loaded model(f);
  run(model, {1, 2}, TENON_FAILED);
  EXPECT_EQ(lastError(),
            "node \"huge\": cannot compute a size: it does not fit "
            "in 64 bits");
}

TEST(Execute, AnUnsetSizeIsAnError) {
  Frame f;
  Loaded model(f);
  run(model, {1}, TENON_FAILED);
  EXPECT_EQ(lastError(), "output \"y\": dim 0, m, is unknown: it depends on a "
                         "size that has no value yet");
}

TEST(Execute, RequireChecksItsRelation) {
  struct Case {
    tenon_relation_t relation;
    int64_t against;
    std::vector<int> good, bad;
  };
  for (const Case &test : {Case{TENON_EQUAL, 3, {3}, {2, 4}},
                           Case{TENON_LESS_EQUAL, 3, {0, 3}, {4}},
                           Case{TENON_BROADCASTS, 3, {1, 3}, {0, 2}},
                           Case{TENON_BROADCASTS, 1, {0, 1, 9}, {}},
                           Case{TENON_DIVIDES, 6, {1, 3, 6}, {0, 4, 12}},
                           Case{TENON_DIVIDES, 0, {0, 3}, {}}}) {
    Frame f;
    tenon_step_t &step =
        f.step(TENON_STEP_REQUIRE, f.size(f.n), f.constant(test.against),
               test.relation, {}, {"check"});
    step.message = f.string("the sizes must fit");
    f.step(TENON_STEP_SET, f.m, f.constant(1));
    Loaded model(f);
    for (int count : test.good)
      EXPECT_EQ(run(model, Values(count)).size(), 1u);
    for (int count : test.bad) {
      run(model, Values(count), TENON_FAILED);
      EXPECT_EQ(lastError(), "node \"check\": the sizes must fit (" +
                                 std::to_string(count) + " and " +
                                 std::to_string(test.against) + ")");
    }
  }
}

/// y[0] = x[0]; while (y[0] < 10) y[0] += step;
static void addLoop(Frame &f, int64_t step) {
  auto y0 = f.at(TENON_PLACE_OUTPUT, 0, f.constant(8));
  auto flag = f.at(TENON_PLACE_ARENA, 0, f.constant(1));
  uint32_t one = f.constant(1), add = f.kernel("add"), less = f.kernel("less");
  f.segment(f.constant(64));
  f.step(TENON_STEP_SET, f.m, one);
  f.step(TENON_STEP_SEGMENT, 0);
  f.step(TENON_STEP_COPY, 0, 0, 0, {f.x0, y0});
  f.launch({less, one, {y0, flag}, {f.constant(10)}}); // 3
  f.step(TENON_STEP_JUMP_UNLESS, 7, 0, 0, {flag});
  f.launch({add, one, {y0, y0}, {f.constant(step)}});
  f.step(TENON_STEP_JUMP, 3);
}

TEST(Execute, JumpsMakeALoop) {
  Frame f;
  addLoop(f, 3);
  Loaded model(f);
  EXPECT_EQ(run(model, {2}), Values{11});
  EXPECT_EQ(run(model, {10}), Values{10});
  EXPECT_EQ(run(model, {-5}), Values{10});
}

TEST(Execute, JumpsBySizesMakeALoop) {
  Frame f; // m = 0; do m += 3; while (m < n)
  f.step(TENON_STEP_SET, f.m, f.constant(0));
  f.step(TENON_STEP_SET, f.m, f.linear(f.m, 1, 3)); // 1
  f.step(TENON_STEP_JUMP_UNLESS_LESS, 4, f.size(f.m), f.size(f.n));
  f.step(TENON_STEP_JUMP, 1);
  Loaded model(f);
  EXPECT_EQ(run(model, Values(7)), Values(9, 0));
  EXPECT_EQ(run(model, Values(9)), Values(9, 0));
  EXPECT_EQ(run(model, Values(10)), Values(12, 0));
  EXPECT_EQ(run(model, Values(0)), Values(3, 0));
}

TEST(Execute, AJumpByAnUnsetSizeIsAnError) {
  Frame f;
  f.step(TENON_STEP_JUMP_UNLESS_LESS, 1, f.size(f.m), f.size(f.n), {},
         {"pieces"});
  Loaded model(f);
  run(model, {1, 2}, TENON_FAILED);
  EXPECT_EQ(lastError(), "node \"pieces\": cannot compute a size: it depends "
                         "on a size that has no value yet");
}

TEST(Execute, CancelEndsALoop) {
  Frame f;
  addLoop(f, 0);
  Loaded model(f);
  {
    Canceller canceller(model.session);
    run(model, {2}, TENON_CANCELLED);
  }
  EXPECT_EQ(lastError(), "the run was cancelled");
  run(model, {10}, TENON_CANCELLED); // Until it is taken back.
  model.session.cancel(false);
  EXPECT_EQ(run(model, {10}), Values{10});
}

TEST(Execute, CopyChecksSizes) {
  Frame f;
  f.step(TENON_STEP_SET, f.m, f.constant(2));
  f.step(TENON_STEP_COPY, 0, 0, 0, {f.xs, f.ys}, {"copy"});
  Loaded model(f);
  EXPECT_EQ(run(model, {4, 5}), (Values{4, 5}));
  run(model, {4, 5, 6}, TENON_FAILED);
  EXPECT_EQ(lastError(), "node \"copy\": 24 bytes do not fit where 16 do");
}

TEST(Execute, SegmentsGrowWithinTheLimit) {
  Frame f;
  uint32_t mega = 1 << 20;
  f.segment(f.linear(f.n, mega));
  f.step(TENON_STEP_SET, f.m, f.constant(0));
  f.step(TENON_STEP_SEGMENT, 0, 0, 0, {}, {"concat"});
  tenon_session_options_t options = withThreads(1);
  options.memory_limit = 5 * mega;
  Loaded model(f, &options);
  run(model, Values(2));
  EXPECT_EQ(model.session.info().arena_bytes, 2 * mega);
  run(model, Values(4));
  run(model, Values(1));
  EXPECT_EQ(model.session.info().arena_bytes, 4 * mega);
  run(model, Values(6), TENON_OUT_OF_MEMORY);
  EXPECT_EQ(lastError(),
            "node \"concat\": it needs 6291456 bytes of memory, over the "
            "session's limit of 5242880 (64 in use)");
  run(model, Values(3));
}

TEST(Execute, AbsurdSizesAreErrors) {
  for (int64_t factor : {INT64_MAX, int64_t(1) << 50, int64_t(-1)}) {
    Frame f;
    f.segment(f.linear(f.n, factor));
    f.step(TENON_STEP_SEGMENT, 0, 0, 0, {}, {"absurd"});
    Loaded model(f);
    tenon_status_t wanted = factor < 0 ? TENON_FAILED : TENON_OUT_OF_MEMORY;
    run(model, {1}, wanted);
    EXPECT_EQ(lastError().substr(0, 13), "node \"absurd\"");
  }
  Frame f; // An output of 2^53 bytes.
  f.outputs[0].rank = 1;
  f.dims[f.outputs[0].first_dim] = f.constant(int64_t(1) << 50);
  Loaded model(f);
  run(model, {1}, TENON_OUT_OF_MEMORY);
}

TEST(Execute, OperandsStayInsideTheirPlace) {
  struct Case {
    int64_t offset, bytes;
    bool good;
  };
  for (Case test : {Case{0, 16, true}, Case{8, 8, true}, Case{16, 0, true},
                    Case{0, 17, false}, Case{8, 9, false}, Case{17, 0, false},
                    Case{-8, 8, false}, Case{0, -1, false},
                    Case{INT64_MAX, INT64_MAX, false}}) {
    Frame f;
    f.step(TENON_STEP_SET, f.m, f.constant(20));
    f.step(TENON_STEP_COPY, 0, 0, 0,
           {f.at(TENON_PLACE_INPUT, 0, f.constant(test.bytes),
                 f.constant(test.offset)),
            f.ys});
    Loaded model(f);
    run(model, {1, 2}, test.good ? TENON_OK : TENON_FAILED);
  }
}

TEST(Execute, AnUnmadeSegmentHoldsNothing) {
  Frame f;
  f.segment(f.constant(64));
  f.step(TENON_STEP_SET, f.m, f.constant(1));
  f.step(TENON_STEP_COPY, 0, 0, 0,
         {f.at(TENON_PLACE_ARENA, 0, f.constant(8)), f.ys});
  Loaded model(f);
  run(model, {1}, TENON_FAILED);
}
} // namespace
