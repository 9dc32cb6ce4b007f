//===- Metadata.cpp - Every table of an artifact is checked ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/runtime/TinyModels.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

using namespace tenon;
using namespace tenon::test;

namespace {
struct Case {
  const char *sentence;
  void (*change)(ArtifactBuilder &);
};

void expectRefused(const std::string &artifact, const char *sentence) {
  loadModel(artifact, TENON_BAD_FORMAT);
  EXPECT_NE(lastError().find(sentence), std::string_view::npos)
      << sentence << ": " << lastError();
}

TEST(Metadata, WrongEntriesAreRefused) {
  using B = ArtifactBuilder;
  const Case cases[] = {
      {"has no kernel", [](B &b) { b.steps[1].a = 9; }},
      {"rows name no", [](B &b) { b.steps[1].b = 999; }},
      {"grain names no", [](B &b) { b.steps[1].c = 999; }},
      {"scratch names no", [](B &b) { b.steps[1].d = UINT32_MAX; }},
      {"shared memory names no", [](B &b) { b.steps[1].shared = UINT32_MAX; }},
      {"unknown kind", [](B &b) { b.steps[1].kind = 9; }},
      {"unknown kind", [](B &b) { b.steps[1].kind = 0; }},
      {"step's buffers", [](B &b) { b.steps[1].first_buffer = UINT32_MAX; }},
      {"step's buffers", [](B &b) { b.steps[1].buffer_count = UINT32_MAX; }},
      {"step's parameters", [](B &b) { b.steps[1].param_count = 1; }},
      {"step's nodes", [](B &b) { b.steps[1].node_count = 3; }},
      {"no known segment", [](B &b) { b.steps[0].a = 1; }},
      {"leaves the program", [](B &b) { b.step(TENON_STEP_JUMP, 99); }},
      {"no condition", [](B &b) { b.step(TENON_STEP_JUMP_UNLESS, 0); }},
      {"unknown symbols",
       [](B &b) {
         b.step(TENON_STEP_BIND, 0, 2, TENON_I64,
                {b.at(TENON_PLACE_INPUT, 0, b.constant(8))});
       }},
      {"not i32 or i64",
       [](B &b) {
         b.step(TENON_STEP_BIND, 0, 1, TENON_F32,
                {b.at(TENON_PLACE_INPUT, 0, b.constant(8))});
       }},
      {"binds nothing", [](B &b) { b.step(TENON_STEP_BIND, 0, 1, TENON_I64); }},
      {"sets no known symbol", [](B &b) { b.step(TENON_STEP_SET, 7, 0); }},
      {"value names no", [](B &b) { b.step(TENON_STEP_SET, 0, 999); }},
      {"unknown relation", [](B &b) { b.step(TENON_STEP_REQUIRE, 0, 0, 5); }},
      {"condition names no",
       [](B &b) { b.step(TENON_STEP_REQUIRE, 0, 999, 1); }},
      {"copy lacks a buffer",
       [](B &b) {
         b.step(TENON_STEP_COPY, 0, 0, 0,
                {b.at(TENON_PLACE_INPUT, 0, b.constant(8))});
       }},
      {"read-only",
       [](B &b) {
         b.step(TENON_STEP_COPY, 0, 0, 0,
                {b.at(TENON_PLACE_INPUT, 0, b.constant(8)),
                 b.at(TENON_PLACE_WEIGHTS, 0, b.constant(8))});
       }},
      {"names no place", [](B &b) { b.buffers[0].index = 1; }},
      {"names no place", [](B &b) { b.buffers[1].index = 1; }},
      {"names no place", [](B &b) { b.buffers[0].place = 77; }},
      {"offset names no", [](B &b) { b.buffers[0].offset = 999; }},
      {"size names no", [](B &b) { b.buffers[0].bytes = 999; }},
      {"segment's size", [](B &b) { b.segments[0].bytes = 999; }},
      {"no known type", [](B &b) { b.inputs[0].dtype = 8; }},
      {"rank is over 32", [](B &b) { b.inputs[0].rank = 33; }},
      {"dims lie outside", [](B &b) { b.outputs[0].first_dim = UINT32_MAX; }},
      {"room is no known symbol",
       [](B &b) { b.inputs[0].room = uint32_t(b.symbols.size()) + 1; }},
      {"grows along no axis",
       [](B &b) {
         b.inputs[0].room = 1;
         b.inputs[0].axis = b.inputs[0].rank;
       }},
      {"an input appends", [](B &b) { b.inputs[0].appends_to = 1; }},
      {"appends to no input", [](B &b) { b.outputs[0].appends_to = 1; }},
      {"appends to no input",
       [](B &b) {
         b.outputs[0].room = 1;
         b.outputs[0].appends_to = uint32_t(b.inputs.size()) + 1;
       }},
      {"not of its kind",
       [](B &b) { b.outputs[0].room = b.outputs[0].appends_to = 1; }},
      {"dim names no", [](B &b) { b.dims[0] = 999; }},
      {"parameter names no", [](B &b) { b.params.push_back(999); }},
      {"range is empty", [](B &b) { b.symbols[0].lo = 1001; }},
      {"outside the words", [](B &b) { b.exprs[0].first = UINT32_MAX; }},
      {"an expression is empty", [](B &b) { b.exprs[0].count = 0; }},
      {"unknown instruction", [](B &b) { b.words[0] = 10; }},
      {"unknown instruction", [](B &b) { b.words[0] = 0; }},
      {"symbol that does not exist", [](B &b) { b.words[1] = 1; }},
      {"symbol that does not exist", [](B &b) { b.words[1] = -1; }},
      {"lacks the operand", [](B &b) { b.exprs[0].count = 1; }},
      {"lacks an operand", [](B &b) { b.expr({TENON_ADD}); }},
      {"exactly one value",
       [](B &b) { b.expr({TENON_PUSH_CONSTANT, 1, TENON_PUSH_CONSTANT, 1}); }},
      {"too deep",
       [](B &b) {
         std::vector<int64_t> code;
         for (int i = 0; i < 65; ++i)
           code.insert(code.end(), {TENON_PUSH_CONSTANT, 1});
         code.insert(code.end(), 64, TENON_ADD);
         b.expr(code);
       }},
      {"expressions are too long",
       [](B &b) {
         uint32_t e = b.constant(1);
         b.exprs.insert(b.exprs.end(), 100000, b.exprs[e]);
       }},
      {"a name lies outside", [](B &b) { b.nodes[0].count = UINT32_MAX; }},
      {"a name lies outside", [](B &b) { b.header.producer.offset = ~0u; }},
      {"names are too long",
       [](B &b) {
         tenon_string_t whole = b.string(std::string(10000, 'x'));
         b.nodes.insert(b.nodes.end(), 10000, whole);
       }},
      {"code table does not fit", [](B &b) { b.code.push_back(0); }},
      {"a kernel has no code", [](B &b) { b.code[0] = 0; }},
      {"a kernel has no code", [](B &b) { b.code[0] = UINT64_MAX; }},
      {"no level", [](B &b) { b.levels.clear(); }},
      {"flags", [](B &b) { b.header.flags = 1; }},
      {"does not fit its steps", [](B &b) { b.costs.resize(1); }},
      {"a cost names no",
       [](B &b) {
         b.costs.resize(b.steps.size());
         b.costs[1].bytes = UINT32_MAX;
       }},
      {"a cost names no",
       [](B &b) {
         b.costs.resize(b.steps.size());
         b.costs[1].flops = uint32_t(b.exprs.size()) + 1;
       }},
      {"a cost is of no known type",
       [](B &b) {
         b.costs.resize(b.steps.size());
         b.costs[2].dtype = 8;
       }},
  };
  for (const Case &test : cases) {
    ArtifactBuilder b = scaleModel();
    test.change(b);
    expectRefused(b.build(), test.sentence);
  }
}

TEST(Metadata, TablesOutsideAreRefused) {
  ArtifactBuilder b = scaleModel();
  std::string good = b.buildMetadata();
  constexpr size_t first = offsetof(tenon_metadata_t, levels);
  constexpr size_t tables = (sizeof(tenon_metadata_t) - first) / 8;
  for (size_t i = 0; i < tables; ++i) {
    for (tenon_table_t wrong :
         {tenon_table_t{UINT32_MAX & ~7u, 1}, tenon_table_t{8, UINT32_MAX},
          tenon_table_t{uint32_t(good.size()), 1}, tenon_table_t{4, 1}}) {
      std::string bad = good;
      memcpy(bad.data() + first + i * 8, &wrong, sizeof wrong);
      loadModel(b.wrap(bad), TENON_BAD_FORMAT);
    }
  }
}

TEST(Metadata, TablesThatOverlapAreRefused) {
  ArtifactBuilder b = scaleModel();
  std::string bad = b.buildMetadata();
  tenon_metadata_t header;
  memcpy(&header, bad.data(), sizeof header);
  header.nodes.offset = header.steps.offset;
  memcpy(bad.data(), &header, sizeof header);
  expectRefused(b.wrap(bad), "overlap");
}

TEST(Metadata, BeforeFormat21ThereAreNoCosts) {
  ArtifactBuilder b = scaleModel();
  std::string bytes = b.buildMetadata();
  tenon_metadata_t header;
  memcpy(&header, bytes.data(), sizeof header);
  header.costs = {4, UINT32_MAX}; // Of format 2.0 this is no part.
  memcpy(bytes.data(), &header, sizeof header);
  std::string file = b.wrap(bytes);
  expectRefused(file, "cost table lies outside");
  tenon_footer_t footer = footerOf(file);
  footer.format_minor = 0;
  setFooter(file, footer);
  sealArtifact(file);
  EXPECT_TRUE(loadModel(file));
}

TEST(Metadata, MutationsNeverCrash) {
  ArtifactBuilder b = scaleModel();
  for (size_t i = 0; i < b.steps.size(); ++i)
    b.costs.push_back({b.constant(1) + 1, TENON_F32, b.size(0) + 1, 0});
  std::string good = b.buildMetadata();
  std::mt19937 random(7);
  TemporaryFile file("");
  const uint32_t values[] = {0, 1, 7, 0x7fffffff, 0x80000000, 0xffffffff};
  for (int round = 0; round < 5000; ++round) {
    std::string bad = good;
    for (unsigned change = random() % 3 + 1; change > 0; --change) {
      size_t at = random() % (bad.size() / 4) * 4;
      uint32_t value = random() % 4 ? values[random() % 6] : random();
      memcpy(bad.data() + at, &value, sizeof value);
    }
    file.overwrite(b.wrap(bad));
    Model model;
    if (Model::load(file.path(), model) != TENON_OK)
      continue;
    tenon_model_info_t info = model.info();
    for (uint32_t i = 0; i < info.input_count; ++i)
      model.input(i);
    for (uint32_t i = 0; i < info.kernel_count; ++i)
      model.kernel(i);
    Session session;
    tenon_session_options_t options = withThreads(1);
    Session::create(model, session, &options);
  }
}
} // namespace
