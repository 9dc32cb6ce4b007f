//===- CodeCache.cpp - What was compiled before is compiled once ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/CodeCache.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <atomic>
#include <csignal>
#include <gtest/gtest.h>
#include <sys/resource.h>

using namespace tenon;

namespace {

class CodeCacheTest : public testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("code", path));
    folder = path.str().str();
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  std::shared_ptr<CodeCache> open() {
    auto cache = CodeCache::inFolder(folder);
    EXPECT_TRUE(bool(cache)) << llvm::toString(cache.takeError());
    return cache ? *cache : nullptr;
  }

  /// Code of `source`, which is its capital letters; counts in `compiled`.
  std::string get(CodeCache &cache, const std::string &source) {
    return cache
        .get(source,
             [this, source] {
               ++compiled;
               return llvm::StringRef(source).upper();
             })
        .get();
  }

  /// Changes every file that keeps code.
  void damage(llvm::function_ref<void(std::string &bytes)> change) {
    std::error_code error;
    for (llvm::sys::fs::directory_iterator file(folder, error), end;
         file != end; file.increment(error)) {
      llvm::StringRef name = llvm::sys::path::filename(file->path());
      if (!name.starts_with("llvmcache-") || name.ends_with("-probe"))
        continue;
      std::string bytes =
          (*llvm::MemoryBuffer::getFile(file->path()))->getBuffer().str();
      change(bytes);
      llvm::raw_fd_ostream(file->path(), error) << bytes;
      ASSERT_FALSE(error);
    }
  }

  std::string folder;
  std::atomic<int> compiled = 0;
};

TEST_F(CodeCacheTest, CompilesEqualSourcesOnce) {
  CodeCache cache;
  EXPECT_EQ(get(cache, "add"), "ADD");
  EXPECT_EQ(get(cache, "add"), "ADD");
  EXPECT_EQ(compiled, 1);
  EXPECT_EQ(get(cache, "mul"), "MUL");
  EXPECT_EQ(compiled, 2);
  CodeCache another;
  EXPECT_EQ(get(another, "add"), "ADD");
  EXPECT_EQ(compiled, 3);
}

TEST_F(CodeCacheTest, ManyWaitForOne) {
  CodeCache cache;
  std::vector<CodeCache::Code> codes;
  for (int i = 0; i < 200; ++i) {
    std::string source = std::to_string(i % 7);
    codes.push_back(cache.get(source, [this, source] {
      ++compiled;
      return source;
    }));
  }
  for (int i = 0; i < 200; ++i)
    EXPECT_EQ(codes[i].get(), std::to_string(i % 7));
  EXPECT_EQ(compiled, 7);
}

TEST_F(CodeCacheTest, FoldersKeepCode) {
  EXPECT_EQ(get(*open(), "add"), "ADD");
  EXPECT_EQ(get(*open(), "add"), "ADD");
  EXPECT_EQ(compiled, 1);
}

TEST_F(CodeCacheTest, KeepsNothingOfFailures) {
  auto failing = [this] {
    ++compiled;
    return std::string();
  };
  EXPECT_EQ(open()->get("add", failing).get(), "");
  EXPECT_EQ(open()->get("add", failing).get(), "");
  EXPECT_EQ(compiled, 2);
}

TEST_F(CodeCacheTest, CompilesAgainWhatIsDamaged) {
  EXPECT_EQ(get(*open(), "add"), "ADD");
  damage([](std::string &bytes) { bytes[0] ^= 1; });
  EXPECT_EQ(get(*open(), "add"), "ADD");
  EXPECT_EQ(compiled, 2);
  damage([](std::string &bytes) { bytes.pop_back(); });
  EXPECT_EQ(get(*open(), "add"), "ADD");
  EXPECT_EQ(compiled, 3);
  damage([](std::string &bytes) { bytes.clear(); });
  EXPECT_EQ(get(*open(), "add"), "ADD");
  EXPECT_EQ(get(*open(), "add"), "ADD");
  EXPECT_EQ(compiled, 4);
}

TEST_F(CodeCacheTest, SaysWhyNothingCanBeKept) {
  std::string file = folder + "/file";
  std::error_code error;
  llvm::raw_fd_ostream(file, error) << "text";
  for (const std::string &place : {file, file + "/below"}) {
    auto cache = CodeCache::inFolder(place);
    ASSERT_FALSE(bool(cache));
    EXPECT_TRUE(llvm::StringRef(llvm::toString(cache.takeError()))
                    .starts_with("code cannot be kept in '" + place + "': "));
  }
}

/// Where nothing more can be written, as on a full disk.
TEST_F(CodeCacheTest, FilesMayNotFit) {
  auto cache = open();
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit none = {4, before.rlim_max};
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
  EXPECT_EQ(get(*cache, "add"), "ADD");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  damage([](std::string &) { FAIL() << "part of a file is kept"; });
  EXPECT_EQ(get(*open(), "add"), "ADD");
  EXPECT_EQ(compiled, 2);
}

/// A folder that is gone costs what it would have spared, and nothing else.
TEST_F(CodeCacheTest, FoldersMayDisappear) {
  auto cache = open();
  llvm::sys::fs::remove_directories(folder);
  EXPECT_EQ(get(*cache, "add"), "ADD");
}

} // namespace
