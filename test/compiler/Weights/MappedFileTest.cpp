//===- MappedFileTest.cpp - A regular file, mapped read-only --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Weights/MappedFile.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tenon {
namespace {

namespace fs = std::filesystem;

class MappedFileTest : public testing::Test {
protected:
  void SetUp() override {
    std::string path = fs::temp_directory_path() / "tenon-mapped-XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    root = path;
    fs::create_directories(root / "model/sub");
    write("secret.bin");
    write("model/w.bin");
    write("model/sub/w.bin");
    auto opened = Folder::of((root / "model/model.onnx").string());
    ASSERT_TRUE(bool(opened));
    folder = *opened;
  }
  void TearDown() override { fs::remove_all(root); }

  void write(const char *name) { std::ofstream(root / name) << "12345678"; }

  /// What is said of a location; empty when it can be mapped.
  std::string refusal(llvm::StringRef location) {
    auto file = MappedFile::openInside(*folder, location);
    return file ? "" : llvm::toString(file.takeError());
  }
  void expectRefused(llvm::StringRef location, llvm::StringRef why) {
    EXPECT_TRUE(llvm::StringRef(refusal(location)).contains(why))
        << refusal(location);
  }

  fs::path root;
  std::shared_ptr<Folder> folder;
};

TEST_F(MappedFileTest, FilesOfTheFolderAreMapped) {
  auto file = MappedFile::openInside(*folder, "./sub/w.bin");
  ASSERT_TRUE(bool(file));
  EXPECT_EQ((*file)->bytes().size(), 8u);
  EXPECT_EQ((*file)->bytes()[7], '8');
  EXPECT_EQ(refusal("w.bin"), "");
}

TEST_F(MappedFileTest, LocationsMustStayInside) {
  expectRefused("", "empty");
  expectRefused("../secret.bin", "'..'");
  expectRefused("sub/../../secret.bin", "'..'");
  expectRefused("/etc/passwd", "absolute");
  expectRefused("..\\secret.bin", "backslash");
  expectRefused(llvm::StringRef("w.bin\0x", 7), "NUL");
  expectRefused("missing.bin", "No such file");
  expectRefused("sub", "directory");
  expectRefused(".", "folder");
}

TEST_F(MappedFileTest, LinksAreRefused) {
  fs::create_symlink(root / "secret.bin", root / "model/link.bin");
  fs::create_directory_symlink(root, root / "model/up");
  fs::create_hard_link(root / "secret.bin", root / "model/hard.bin");
  expectRefused("link.bin", "symbolic link 'link.bin'");
  expectRefused("up/secret.bin", "symbolic link 'up'");
  expectRefused("hard.bin", "hard link");
}

/// snapshots/R/model.onnx and its data are links to files of blobs.
TEST_F(MappedFileTest, LinksMayLeadToWhereTheModelsLinkLeads) {
  fs::create_directories(root / "blobs");
  fs::create_directories(root / "snapshots/R");
  for (std::string name : {"model", "data"})
    std::ofstream(root / "blobs" / name) << name;
  auto link = [&](const std::string &name, const std::string &to) {
    fs::create_symlink(to, root / "snapshots/R" / name);
  };
  link("model.onnx", "../../blobs/model");
  link("data", "../../blobs/data");
  link("elsewhere", "../../secret.bin");
  link("folder", "../../blobs");
  link("missing", "../../blobs/none");
  fs::create_symlink("../secret.bin", root / "blobs/again");
  link("twice", "../../blobs/again");
  auto folder = Folder::of((root / "snapshots/R/model.onnx").string());
  ASSERT_TRUE(bool(folder));
  auto open = [&](const std::string &name) {
    auto file = MappedFile::openInside(**folder, name);
    return file ? std::string((*file)->bytes().begin(), (*file)->bytes().end())
                : llvm::toString(file.takeError());
  };
  EXPECT_EQ(open("data"), "data");
  for (std::string name : {"elsewhere", "missing", "twice", "folder/data"})
    EXPECT_NE(open(name).find("symbolic link"), std::string::npos) << name;
  // The same links beside a model that is none.
  std::ofstream(root / "snapshots/R/own.onnx") << "own";
  folder = Folder::of((root / "snapshots/R/own.onnx").string());
  ASSERT_TRUE(bool(folder));
  EXPECT_NE(open("data").find("symbolic link"), std::string::npos);
}

TEST_F(MappedFileTest, OnlyRegularFilesAreOpened) {
  ASSERT_EQ(mkfifo((root / "model/pipe").c_str(), 0600), 0);
  expectRefused("pipe", "not a regular file");
  auto device = MappedFile::open("/dev/zero");
  EXPECT_FALSE(bool(device));
  llvm::consumeError(device.takeError());
}

TEST_F(MappedFileTest, TheUsersOwnPathMayBeALink) {
  fs::create_symlink(root / "secret.bin", root / "model/link.bin");
  auto file = MappedFile::open((root / "model/link.bin").string());
  ASSERT_TRUE(bool(file));
  EXPECT_EQ((*file)->bytes().size(), 8u);
}

} // namespace
} // namespace tenon
