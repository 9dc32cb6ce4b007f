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

/// Loads program 1, 2, ... only to ask about it.
tenon_status_t describe(const char *path, int program, Model &model) {
  tenon_load_options_t options = {};
  options.struct_size = sizeof options;
  options.describe = program;
  return Model::load(path, model, &options);
}

TEST(Metadata, WrongEntriesAreRefused) {
  using B = ArtifactBuilder;
  const Case cases[] = {
      {"has no kernel", [](B &b) { b.steps[1].a = 9; }},
      {"rows name no", [](B &b) { b.steps[1].b = 999; }},
      {"grain names no", [](B &b) { b.steps[1].c = 999; }},
      {"scratch names no", [](B &b) { b.steps[1].d = UINT32_MAX; }},
      {"shared memory names no", [](B &b) { b.steps[1].shared = UINT32_MAX; }},
      {"unknown kind", [](B &b) { b.steps[1].kind = 10; }},
      {"unknown kind", [](B &b) { b.steps[1].kind = 0; }},
      {"step's buffers", [](B &b) { b.steps[1].first_buffer = UINT32_MAX; }},
      {"step's buffers", [](B &b) { b.steps[1].buffer_count = UINT32_MAX; }},
      {"step's parameters", [](B &b) { b.steps[1].param_count = 1; }},
      {"step's nodes", [](B &b) { b.steps[1].node_count = 3; }},
      {"no known segment", [](B &b) { b.steps[0].a = 1; }},
      {"leaves the program", [](B &b) { b.step(TENON_STEP_JUMP, 99); }},
      {"no condition", [](B &b) { b.step(TENON_STEP_JUMP_UNLESS, 0); }},
      {"leaves the program",
       [](B &b) {
         b.step(TENON_STEP_JUMP_UNLESS_LESS, 99, b.constant(1), b.constant(1));
       }},
      {"jump's size names no",
       [](B &b) {
         b.step(TENON_STEP_JUMP_UNLESS_LESS, 0, 999, b.constant(1));
       }},
      {"jump's size names no",
       [](B &b) {
         b.step(TENON_STEP_JUMP_UNLESS_LESS, 0, b.constant(1), UINT32_MAX);
       }},
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

/// A program for devices that is right, but for its code.
ArtifactBuilder deviceModel() {
  ArtifactBuilder b;
  b.forDevices();
  uint32_t n = b.symbol("n");
  b.input("x", TENON_F32, {b.size(n)});
  b.output("y", TENON_F32, {b.size(n)});
  uint32_t bytes = b.linear(n, 4);
  b.launch({b.deviceKernel("copy", 128, 1024),
            b.size(n),
            {b.at(TENON_PLACE_INPUT, 0, bytes),
             b.at(TENON_PLACE_OUTPUT, 0, bytes)}});
  b.addImage(TENON_IMAGE_PTX, 80, "// PTX");
  b.addImage(TENON_IMAGE_CUBIN, 90, "cubin");
  return b;
}

TEST(Metadata, WrongProgramsForDevicesAreRefused) {
  using B = ArtifactBuilder;
  const Case cases[] = {
      {"target is unknown", [](B &b) { b.header.target = 2; }},
      {"but has code for devices",
       [](B &b) { b.header.target = TENON_TARGET_CPU; }},
      {"but has code for CPUs", [](B &b) { b.level("baseline", 0); }},
      {"but has code for CPUs", [](B &b) { b.code.push_back(0); }},
      {"no image", [](B &b) { b.images.clear(); }},
      {"over 64 images", [](B &b) { b.images.resize(65, b.images[0]); }},
      {"does not fit its kernels", [](B &b) { b.blocks.clear(); }},
      {"does not fit its kernels", [](B &b) { b.blocks.push_back({32, 0}); }},
      {"image is of an unknown kind", [](B &b) { b.images[0].kind = 3; }},
      {"image is of an unknown kind", [](B &b) { b.images[1].kind = 0; }},
      {"no known compute capability", [](B &b) { b.images[0].sm = 49; }},
      {"no known compute capability", [](B &b) { b.images[0].sm = 1000; }},
      {"image lies outside", [](B &b) { b.images[0].bytes = 0; }},
      {"image lies outside", [](B &b) { b.images[1].bytes = 1 << 30; }},
      {"image lies outside", [](B &b) { b.images[1].offset = UINT64_MAX; }},
      {"text has no end", [](B &b) { --b.images[0].bytes; }},
      {"block has no threads", [](B &b) { b.blocks[0].threads = 0; }},
      {"or over 1024", [](B &b) { b.blocks[0].threads = 1025; }},
      {"shared memory", [](B &b) { b.blocks[0].shared_bytes = 262145; }},
  };
  for (const Case &test : cases) {
    ArtifactBuilder b = deviceModel();
    test.change(b);
    TemporaryFile file(b.build());
    Model model;
    EXPECT_EQ(describe(file.path(), 1, model), TENON_BAD_FORMAT);
    EXPECT_NE(lastError().find(test.sentence), std::string_view::npos)
        << test.sentence << ": " << lastError();
  }
}

TEST(Metadata, ProgramsAreChained) {
  ArtifactBuilder b = scaleModel(), other = deviceModel();
  b.image = other.image; // Whose offsets its program knows.
  b.next(other.buildMetadata());
  TemporaryFile file(b.build());
  Model model;
  EXPECT_EQ(Model::load(file.path(), model), TENON_OK) << lastError();
  EXPECT_EQ(model.info().program_count, 2u);
  EXPECT_STREQ(model.info().target, "cpu");
  EXPECT_EQ(describe(file.path(), 1, model), TENON_OK) << lastError();
  EXPECT_STREQ(model.info().target, "cpu");
  EXPECT_EQ(describe(file.path(), 2, model), TENON_OK) << lastError();
  EXPECT_STREQ(model.info().target, "cuda");
  EXPECT_EQ(model.info().image_count, 2u);
  EXPECT_STREQ(model.image(0).kind, "ptx");
  EXPECT_STREQ(model.image(1).kind, "cubin");
  EXPECT_EQ(model.image(1).compute_capability, 90u);
  EXPECT_EQ(model.image(1).bytes, 5u);
  EXPECT_EQ(model.kernel(0).threads, 128u);
  EXPECT_EQ(model.kernel(0).shared_bytes, 1024u);
  Session session;
  EXPECT_EQ(Session::create(model, session), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(describe(file.path(), 3, model), TENON_NOT_FOUND);
  EXPECT_EQ(describe(file.path(), -1, model), TENON_NOT_FOUND);
}

TEST(Metadata, ProgramsForDevicesNeedOne) {
  ArtifactBuilder b = deviceModel();
  Model model = loadModel(b.build(), TENON_UNSUPPORTED);
  EXPECT_NE(lastError().find("it has no program for CPUs; load it for a "
                             "device, or compile the model for CPUs (tenon "
                             "compile --target=cpu)"),
            std::string_view::npos)
      << lastError();
}

TEST(Metadata, ChainsThatAreWrongAreRefused) {
  using B = ArtifactBuilder;
  const Case cases[] = {
      {"two programs for one target",
       [](B &b) {
         std::string same = b.buildMetadata();
         b.next(same);
       }},
      {"program has no size", [](B &b) { b.header.next_offset = 64; }},
      {"program lies outside", [](B &b) { b.header.next_bytes = UINT64_MAX; }},
      {"program lies outside",
       [](B &b) {
         b.header.next_offset = UINT64_MAX - 7;
         b.header.next_bytes = 512;
       }},
      {"lies askew",
       [](B &b) {
         b.header.next_offset = 4;
         b.header.next_bytes = 512;
       }},
      {"bad size", [](B &b) { b.header.next_bytes = 16; }},
      {"target is unknown",
       [](B &b) {
         ArtifactBuilder other = deviceModel();
         other.header.target = 9;
         b.next(other.buildMetadata());
       }},
  };
  for (const Case &test : cases) {
    ArtifactBuilder b = scaleModel();
    test.change(b);
    expectRefused(b.build(), test.sentence);
  }
  // Round and round.
  ArtifactBuilder b = scaleModel();
  std::string file = b.build();
  tenon_footer_t footer = footerOf(file);
  char *metadata = file.data() + footer.metadata_offset;
  memcpy(metadata + offsetof(tenon_metadata_t, next_offset),
         &footer.metadata_offset, 8);
  memcpy(metadata + offsetof(tenon_metadata_t, next_bytes),
         &footer.metadata_bytes, 8);
  sealArtifact(file);
  expectRefused(file, "two programs for one target");
}

TEST(Metadata, BeforeFormat22ThereWereNoDevices) {
  ArtifactBuilder b = scaleModel();
  b.header.target = 77; // Of format 2.1 this is no part.
  std::string file = b.build();
  expectRefused(file, "target is unknown");
  tenon_footer_t footer = footerOf(file);
  footer.format_minor = 1;
  setFooter(file, footer);
  sealArtifact(file);
  EXPECT_TRUE(loadModel(file));
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

/// Loads artifacts whose metadata was changed, and asks about those that are
/// taken.
void mutate(ArtifactBuilder &b, int rounds) {
  std::string good = b.buildMetadata();
  std::mt19937 random(7);
  TemporaryFile file("");
  const uint32_t values[] = {0, 1, 7, 0x7fffffff, 0x80000000, 0xffffffff};
  for (int round = 0; round < rounds; ++round) {
    std::string bad = good;
    for (unsigned change = random() % 3 + 1; change > 0; --change) {
      size_t at = random() % (bad.size() / 4) * 4;
      uint32_t value = random() % 4 ? values[random() % 6] : random();
      memcpy(bad.data() + at, &value, sizeof value);
    }
    file.overwrite(b.wrap(bad));
    Model model;
    if (Model::load(file.path(), model) != TENON_OK &&
        describe(file.path(), 1, model) != TENON_OK)
      continue;
    tenon_model_info_t info = model.info();
    for (uint32_t i = 0; i < info.input_count; ++i)
      model.input(i);
    for (uint32_t i = 0; i < info.kernel_count; ++i)
      model.kernel(i);
    for (uint32_t i = 0; i < info.image_count; ++i)
      model.image(i);
    Session session;
    tenon_session_options_t options = withThreads(1);
    Session::create(model, session, &options);
  }
}

TEST(Metadata, MutationsNeverCrash) {
  ArtifactBuilder b = scaleModel();
  for (size_t i = 0; i < b.steps.size(); ++i)
    b.costs.push_back({b.constant(1) + 1, TENON_F32, b.size(0) + 1, 0});
  mutate(b, 5000);
  ArtifactBuilder other = deviceModel();
  mutate(other, 5000);
}
} // namespace
