//===- Artifact.cpp - Files that are no artifacts are refused -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/runtime/TinyModels.h"

#include <gtest/gtest.h>

#include <cstring>
#include <elf.h>
#include <fstream>
#include <random>
#include <sys/stat.h>
#include <unistd.h>

using namespace tenon;
using namespace tenon::test;

namespace {
/// Loads the file, and runs it where it loads.
tenon_status_t loadAndRun(const char *path) {
  Model model;
  if (tenon_status_t status = Model::load(path, model))
    return status;
  Session session;
  tenon_session_options_t options = withThreads(1);
  EXPECT_EQ(Session::create(model, session, &options), TENON_OK);
  float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  tenon_tensor_t input = tensor(TENON_F32, {2, 4}, x), output = result();
  EXPECT_EQ(session.run({&input, 1}, {&output, 1}), TENON_OK) << lastError();
  return TENON_OK;
}

tenon_status_t loadAndRun(const std::string &artifact) {
  TemporaryFile file(artifact);
  return loadAndRun(file.path());
}

bool mentions(const char *text) {
  return lastError().find(text) != std::string_view::npos;
}

TEST(Artifact, GoodOneRuns) {
  EXPECT_EQ(loadAndRun(scaleModel().build()), TENON_OK);
}

TEST(Artifact, AnyPathWillDo) {
  std::string path = ::testing::TempDir() + "tenon m\u00f6del.tenon";
  std::ofstream(path, std::ios::binary) << scaleModel().build();
  EXPECT_EQ(loadAndRun(path.c_str()), TENON_OK) << lastError();
  unlink(path.c_str());
}

TEST(Artifact, TruncationsAreRefused) {
  std::string whole = scaleModel().build();
  for (int i = 0; i < 64; ++i) {
    std::string cut = whole.substr(0, whole.size() * i / 64);
    EXPECT_EQ(loadAndRun(cut), TENON_BAD_FORMAT) << cut.size();
  }
  EXPECT_EQ(loadAndRun(whole.substr(0, whole.size() - 1)), TENON_BAD_FORMAT);
  EXPECT_EQ(loadAndRun(whole + '\0'), TENON_BAD_FORMAT);
}

TEST(Artifact, BitFlipsAreRefusedOrHarmless) {
  std::string whole = scaleModel().build();
  tenon_footer_t footer = footerOf(whole);
  TemporaryFile file(whole);
  for (size_t at = 0; at < whole.size(); ++at) {
    // Padding is long and dull.
    if (at >= footer.image_bytes && at < footer.weights_offset && at % 64)
      continue;
    std::string flipped = whole;
    flipped[at] = char(flipped[at] ^ 1 << at % 8);
    file.overwrite(flipped);
    tenon_status_t status = loadAndRun(file.path());
    bool covered =
        at < footer.image_bytes || at >= whole.size() - sizeof(tenon_footer_t);
    EXPECT_EQ(status == TENON_OK, !covered) << "byte " << at;
  }
}

TEST(Artifact, WeightsAreVerifiedOnRequest) {
  ArtifactBuilder b = scaleModel();
  b.weights.resize(3 * TENON_WEIGHTS_BLOCK / 2);
  std::string good = b.build(), bad = good, badTable = good;
  tenon_footer_t footer = footerOf(good);
  bad[footer.weights_offset + TENON_WEIGHTS_BLOCK + 5] ^= 4;
  badTable[footer.checksums_offset + 1] ^= 4;

  tenon_load_options_t options = {};
  options.struct_size = sizeof options;
  options.verify_weights = 1;
  Model model;
  EXPECT_EQ(Model::load(TemporaryFile(good).path(), model, &options), TENON_OK)
      << lastError();
  EXPECT_EQ(Model::load(TemporaryFile(bad).path(), model, &options),
            TENON_BAD_FORMAT);
  EXPECT_TRUE(mentions("the weights are damaged")) << lastError();
  EXPECT_EQ(Model::load(TemporaryFile(badTable).path(), model, &options),
            TENON_BAD_FORMAT);
  model = loadModel(bad);
  EXPECT_EQ(tenon_model_verify_weights(model.get()), TENON_BAD_FORMAT);
}

/// A change of the footer, sealed with a good checksum, and its refusal.
struct FooterCase {
  const char *sentence;
  tenon_status_t status;
  void (*change)(tenon_footer_t &);
};

TEST(Artifact, FootersThatLieAreRefused) {
  using Footer = tenon_footer_t;
  const FooterCase cases[] = {
      {"not a Tenon artifact", TENON_BAD_FORMAT,
       [](Footer &f) { f.magic ^= 1; }},
      {"its format is 3.5", TENON_UNSUPPORTED,
       [](Footer &f) { f.format_major = 3; }},
      {"its format is 2.7", TENON_UNSUPPORTED,
       [](Footer &f) { f.format_minor = 7; }},
      {"machine 183", TENON_UNSUPPORTED, [](Footer &f) { f.machine = 183; }},
      {"its size", TENON_BAD_FORMAT, [](Footer &f) { ++f.file_bytes; }},
      {"its code lies outside", TENON_BAD_FORMAT,
       [](Footer &f) { f.image_bytes = UINT64_MAX; }},
      {"its metadata lies outside", TENON_BAD_FORMAT,
       [](Footer &f) { f.metadata_offset = UINT64_MAX - 8; }},
      {"its metadata lies outside", TENON_BAD_FORMAT,
       [](Footer &f) { f.metadata_bytes = UINT64_MAX - 8; }},
      {"its metadata is damaged", TENON_BAD_FORMAT,
       [](Footer &f) { f.metadata_bytes = 16; }},
      {"its metadata is damaged", TENON_BAD_FORMAT,
       [](Footer &f) {
         f.metadata_offset += 8;
         f.metadata_bytes -= 8;
       }},
      {"its weights lie outside", TENON_BAD_FORMAT,
       [](Footer &f) { f.weights_offset += 1; }},
      {"its weights lie outside", TENON_BAD_FORMAT,
       [](Footer &f) { f.weights_offset = 0; }},
      {"its weights lie outside", TENON_BAD_FORMAT,
       [](Footer &f) { f.weights_bytes = UINT64_MAX - 4096; }},
      {"checksums lie outside", TENON_BAD_FORMAT,
       [](Footer &f) { f.checksums_offset = f.weights_offset; }},
      {"checksums lie outside", TENON_BAD_FORMAT,
       [](Footer &f) { f.checksums_offset = UINT64_MAX - 7; }},
  };
  std::string whole = scaleModel().build();
  for (const FooterCase &test : cases) {
    std::string changed = whole;
    tenon_footer_t footer = footerOf(changed);
    test.change(footer);
    setFooter(changed, footer);
    sealArtifact(changed);
    EXPECT_EQ(loadAndRun(changed), test.status) << test.sentence;
    EXPECT_TRUE(mentions(test.sentence)) << lastError();
  }
}

TEST(Artifact, OnlyRegularFilesAreRead) {
  Model model;
  EXPECT_EQ(Model::load("/nowhere/model.tenon", model), TENON_NOT_FOUND);
  EXPECT_TRUE(mentions("cannot open")) << lastError();
  EXPECT_EQ(Model::load(::testing::TempDir().c_str(), model), TENON_BAD_FORMAT);
  EXPECT_TRUE(mentions("not a regular file")) << lastError();
  EXPECT_EQ(Model::load("/dev/zero", model), TENON_BAD_FORMAT);
  std::string pipe = ::testing::TempDir() + "tenon-pipe";
  unlink(pipe.c_str());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(Model::load(pipe.c_str(), model), TENON_BAD_FORMAT);
  unlink(pipe.c_str());
  EXPECT_EQ(Model::load(std::string(5000, 'x').c_str(), model), TENON_IO_ERROR);
  EXPECT_FALSE(model);
}

TEST(Artifact, FileMayBeDeletedOnceLoaded) {
  Model model = loadModel(scaleModel().build()); // Its file is gone by now.
  Session session;
  ASSERT_EQ(Session::create(model, session), TENON_OK);
  float x[4] = {1, 2, 3, 4};
  tenon_tensor_t input = tensor(TENON_F32, {1, 4}, x), output = result();
  ASSERT_EQ(session.run({&input, 1}, {&output, 1}), TENON_OK) << lastError();
  EXPECT_EQ(static_cast<float *>(output.data)[3], 8.0f);
}

TEST(Artifact, MachineCodeIsChecked) {
  struct Case {
    const char *sentence;
    void (*change)(Elf64_Ehdr &, Elf64_Phdr *);
  };
  // lld writes the headers in this order.
  enum { Constants = 1, Text = 2, Data = 3, Dynamic = 4 };
  const Case cases[] = {
      {"no x86-64 ELF", [](Elf64_Ehdr &e, Elf64_Phdr *) { e.e_ident[0] = 0; }},
      {"no x86-64 ELF",
       [](Elf64_Ehdr &e, Elf64_Phdr *) { e.e_ident[EI_DATA] = 2; }},
      {"no x86-64 ELF",
       [](Elf64_Ehdr &e, Elf64_Phdr *) { e.e_machine = EM_AARCH64; }},
      {"no x86-64 ELF", [](Elf64_Ehdr &e, Elf64_Phdr *) { e.e_type = ET_REL; }},
      {"program headers lie outside",
       [](Elf64_Ehdr &e, Elf64_Phdr *) { e.e_phoff = UINT64_MAX - 8; }},
      {"program headers lie outside",
       [](Elf64_Ehdr &e, Elf64_Phdr *) { e.e_phnum = 65535; }},
      {"no segments", [](Elf64_Ehdr &e, Elf64_Phdr *) { e.e_phnum = 0; }},
      {"lies outside the image",
       [](Elf64_Ehdr &, Elf64_Phdr *p) { p[Text].p_offset = UINT64_MAX - 8; }},
      {"lies outside the image",
       [](Elf64_Ehdr &, Elf64_Phdr *p) {
         p[Text].p_filesz = p[Text].p_memsz + 1;
       }},
      {"too large",
       [](Elf64_Ehdr &, Elf64_Phdr *p) { p[Text].p_memsz = UINT64_MAX; }},
      {"too large",
       [](Elf64_Ehdr &, Elf64_Phdr *p) { p[Text].p_vaddr = UINT64_MAX - 9; }},
      {"writable and executable",
       [](Elf64_Ehdr &, Elf64_Phdr *p) { p[Text].p_flags |= PF_W; }},
      {"share a page",
       [](Elf64_Ehdr &, Elf64_Phdr *p) { p[Text].p_vaddr = 0; }},
      {"thread-local",
       [](Elf64_Ehdr &, Elf64_Phdr *p) { p[Dynamic].p_type = PT_TLS; }},
      {"dynamic section lies outside",
       [](Elf64_Ehdr &, Elf64_Phdr *p) { p[Dynamic].p_filesz = UINT64_MAX; }},
      {"a kernel has no code",
       [](Elf64_Ehdr &, Elf64_Phdr *p) { p[Text].p_flags = PF_R; }},
  };
  for (const Case &test : cases) {
    ArtifactBuilder b = scaleModel();
    auto *elf = reinterpret_cast<Elf64_Ehdr *>(b.image.data());
    test.change(*elf, reinterpret_cast<Elf64_Phdr *>(b.image.data() + 64));
    EXPECT_EQ(loadAndRun(b.build()), TENON_BAD_FORMAT) << test.sentence;
    EXPECT_TRUE(mentions(test.sentence))
        << test.sentence << ": " << lastError();
  }
}

TEST(Artifact, CodeThatNeedsALinkerIsRefused) {
  struct Case {
    Elf64_Sxword tag;
    const char *sentence;
  };
  for (Case test : {Case{DT_RELASZ, "dynamic relocations"},
                    Case{DT_PLTRELSZ, "dynamic relocations"},
                    Case{DT_NEEDED, "needs another library"}}) {
    ArtifactBuilder b = scaleModel();
    auto *headers = reinterpret_cast<Elf64_Phdr *>(b.image.data() + 64);
    auto *entry =
        reinterpret_cast<Elf64_Dyn *>(b.image.data() + headers[4].p_offset);
    entry->d_tag = test.tag;
    EXPECT_EQ(loadAndRun(b.build()), TENON_BAD_FORMAT);
    EXPECT_TRUE(mentions(test.sentence)) << lastError();
  }
}

TEST(Artifact, MutatedImagesNeverCrash) {
  std::string whole = scaleModel().build();
  std::mt19937 random(1);
  TemporaryFile file(whole);
  for (int round = 0; round < 2000; ++round) {
    std::string changed = whole;
    for (int change = 0; change < 3; ++change) // ELF and program headers
      changed[random() % 512] = char(random());
    sealArtifact(changed);
    file.overwrite(changed);
    Model model;
    Model::load(file.path(), model); // Must only come back.
  }
}

TEST(Artifact, LoadsAndUnloadsManyTimes) {
  TemporaryFile file(scaleModel().build());
  for (int i = 0; i < 2000; ++i) {
    Model model;
    ASSERT_EQ(Model::load(file.path(), model), TENON_OK) << lastError();
  }
}
} // namespace
