//===- PackageTest.cpp - An artifact, written, loaded and run -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Package/Package.h"
#include "compiler/Weights/WeightStore.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Parser/Parser.h"
#include "runtime/model_format.h"
#include "runtime/tenon.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

#include <cstring>

using namespace mlir;
using namespace tenon;

namespace {

/// y = x + the first column of w; where `flag` is true the kernel `fault` runs
/// after it.
constexpr char programText[] = R"mlir(
module {
  exec.program attributes {
      hi = array<i64: 8, 8>, lo = array<i64: 0, 0>,
      inputs = ["x", "flag"],
      input_types = [tensor<?x100xf32, #graph.dims<batch, 100>>, tensor<i1>],
      outputs = ["y"],
      output_types = [tensor<?x100xf32, #graph.dims<batch, 100>>],
      segments = #graph.dims<400 * batch>, symbols = ["batch", "twice"]} {
    exec.segment 0
    exec.launch @add_column [
      #exec.buffer<input, 0, <0, 400 * batch>, "", "">,
      #exec.buffer<weights, 0, <0, 1>, "w", "packed48">,
      #exec.buffer<arena, 0, <0, 400 * batch>, "", "">]
      params <batch> geometry <batch, 2, 0> {nodes = ["first", "second"]}
    exec.set "twice" <2 * batch>
    exec.require <floordiv(twice, 2), batch> equal "twice is twice"
    exec.if #exec.buffer<input, 1, <0, 1>, "", ""> {
      exec.launch @fault [] params <> geometry <1, 1, 0>
        {nodes = ["first", "second"]}
    } else {
      exec.copy #exec.buffer<arena, 0, <0, 400 * batch>, "", ""> to
        #exec.buffer<output, 0, <0, 400 * batch>, "", "">
    }
  }
  kernel.func @add_column symbols ["d0"] layouts ["", "packed48"]
      schedule "Generic" geometry <d0, 2, 0> {
  ^bb0(%0: tensor<?x100xf32, #graph.dims<d0, 100>>, %1: tensor<100x60xf32>):
    %2 = graph.add %0, %0
      : (tensor<?x100xf32, #graph.dims<d0, 100>>,
         tensor<?x100xf32, #graph.dims<d0, 100>>)
      -> tensor<?x100xf32, #graph.dims<d0, 100>>
    kernel.yield %2 : tensor<?x100xf32, #graph.dims<d0, 100>>
  }
  kernel.func @fault symbols [] layouts [""] schedule "Generic"
      geometry <1, 1, 0> {
  ^bb0(%0: tensor<1xf32>):
    kernel.yield %0 : tensor<1xf32>
  }
}
)mlir";

struct PackageTest : testing::Test {
  MLIRContext context;
  WeightStore weights;
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<llvm::MemoryBuffer> object;
  std::string folder;

  void SetUp() override {
    context.loadDialect<exec::ExecDialect, graph::GraphDialect,
                        kernel::KernelDialect>();
    module = parseSourceString<ModuleOp>(programText, &context);
    ASSERT_TRUE(module);
    std::vector<char> bytes(100 * 60 * 4);
    for (size_t i = 0; i < bytes.size() / 4; ++i) {
      float value = float(i);
      std::memcpy(bytes.data() + i * 4, &value, 4);
    }
    llvm::cantFail(weights.addOwned("w", Float32Type::get(&context), {100, 60},
                                    std::move(bytes)));
    object = std::move(*llvm::MemoryBuffer::getFile(TENON_TEST_KERNELS));
    llvm::SmallString<128> unique;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("package", unique));
    folder = unique.str().str();
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  llvm::Expected<ArtifactSizes> write(const std::string &path) {
    auto program = *module->getOps<exec::ProgramOp>().begin();
    LevelCode level{"x86-64-v3",
                    TENON_CPU_AVX2,
                    {object->getBufferStart(), object->getBufferSize()}};
    return writeArtifact(
        TargetProgram{TENON_TARGET_CPU, program, *module, level, {}, {}},
        weights, path, {"tiny", "test"});
  }

  static std::string read(const std::string &path) {
    return (*llvm::MemoryBuffer::getFile(path))->getBuffer().str();
  }

  int fileCount() {
    int count = 0;
    std::error_code error;
    for (llvm::sys::fs::directory_iterator it(folder, error), end; it != end;
         it.increment(error))
      ++count;
    return count;
  }
};

struct Loaded {
  tenon_model_t *model = nullptr;
  tenon_session_t *session = nullptr;

  explicit Loaded(const std::string &path) {
    tenon_load_options_t options = {sizeof options, nullptr, 1, 0};
    EXPECT_EQ(tenon_model_load(path.c_str(), &options, &model), TENON_OK)
        << tenon_last_error();
    EXPECT_EQ(tenon_session_create(model, nullptr, &session), TENON_OK)
        << tenon_last_error();
  }
  ~Loaded() {
    tenon_session_destroy(session);
    tenon_model_release(model);
  }

  tenon_status_t run(std::vector<float> &x, bool flag, tenon_tensor_t &y) {
    tenon_tensor_t inputs[2] = {};
    inputs[0] = {sizeof y, TENON_F32,   2, {int64_t(x.size() / 100), 100},
                 x.data(), x.size() * 4};
    inputs[1] = {sizeof y, TENON_BOOL, 0, {}, &flag, 1};
    y = {};
    y.struct_size = sizeof y;
    return tenon_session_run(session, inputs, 2, &y, 1);
  }
};

TEST_F(PackageTest, RunsWhatWasWritten) {
  std::string path = folder + "/a.tenon";
  auto sizes = write(path);
  ASSERT_TRUE(bool(sizes)) << llvm::toString(sizes.takeError());
  EXPECT_EQ(sizes->weights, 2u * 100 * 48 * 4);
  Loaded loaded(path);
  ASSERT_TRUE(loaded.session);
  std::vector<float> x(300, 0.5f);
  tenon_tensor_t y;
  ASSERT_EQ(loaded.run(x, false, y), TENON_OK) << tenon_last_error();
  ASSERT_EQ(y.bytes, 1200u);
  for (int i = 0; i < 300; ++i)
    EXPECT_EQ(static_cast<float *>(y.data)[i], 0.5f + float(i % 100 * 60));
}

TEST_F(PackageTest, FaultsNameTheNode) {
  std::string path = folder + "/a.tenon";
  llvm::cantFail(write(path));
  Loaded loaded(path);
  ASSERT_TRUE(loaded.session);
  std::vector<float> x(100);
  tenon_tensor_t y;
  EXPECT_EQ(loaded.run(x, true, y), TENON_FAILED);
  EXPECT_NE(std::string(tenon_last_error()).find("second"), std::string::npos)
      << tenon_last_error();
}

TEST_F(PackageTest, EqualInputsGiveEqualBytes) {
  std::string first = folder + "/a.tenon", second = folder + "/b.tenon";
  llvm::cantFail(write(first));
  llvm::cantFail(write(second));
  EXPECT_TRUE(read(first) == read(second));
}

template <typename T> T at(const std::string &bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

TEST_F(PackageTest, HoldsAProgramForEachTarget) {
  std::string path = folder + "/a.tenon";
  auto program = *module->getOps<exec::ProgramOp>().begin();
  LevelCode level{"x86-64-v3",
                  TENON_CPU_AVX2,
                  {object->getBufferStart(), object->getBufferSize()}};
  std::vector<DeviceImage> images = {
      {TENON_IMAGE_PTX, 80, std::string("// text\0", 8)},
      {TENON_IMAGE_CUBIN, 90, "machine code"}};
  std::vector<tenon_block_t> blocks = {{128, 0}, {256, 4096}};
  auto sizes = writeArtifact(
      {TargetProgram{TENON_TARGET_CPU, program, *module, level, {}, {}},
       TargetProgram{TENON_TARGET_CUDA, program, *module, {}, images, blocks}},
      weights, path, {"tiny", "test"});
  ASSERT_TRUE(bool(sizes)) << llvm::toString(sizes.takeError());
  EXPECT_EQ(sizes->weights, 2u * 100 * 48 * 4); // Of both.

  std::string bytes = read(path);
  auto footer =
      at<tenon_footer_t>(bytes, bytes.size() - sizeof(tenon_footer_t));
  auto first = at<tenon_metadata_t>(bytes, footer.metadata_offset);
  EXPECT_EQ(first.target, TENON_TARGET_CPU);
  EXPECT_EQ(first.images.count + first.blocks.count, 0u);
  auto second = at<tenon_metadata_t>(bytes, first.next_offset);
  EXPECT_EQ(second.target, TENON_TARGET_CUDA);
  EXPECT_EQ(second.bytes, first.next_bytes);
  EXPECT_EQ(second.levels.count + second.code.count, 0u);
  EXPECT_EQ(second.next_offset, 0u);
  ASSERT_EQ(second.images.count, 2u);
  ASSERT_EQ(second.blocks.count, 2u);
  uint64_t table = first.next_offset + second.images.offset;
  for (const DeviceImage &image : images) {
    auto entry = at<tenon_image_t>(bytes, table);
    EXPECT_EQ(entry.kind, image.kind);
    EXPECT_EQ(entry.sm, image.sm);
    EXPECT_EQ(bytes.substr(entry.offset, entry.bytes), image.bytes);
    table += sizeof entry;
  }
  auto block = at<tenon_block_t>(
      bytes, first.next_offset + second.blocks.offset + sizeof(tenon_block_t));
  EXPECT_EQ(block.threads, 256u);
  EXPECT_EQ(block.shared_bytes, 4096u);

  Loaded loaded(path);
  ASSERT_TRUE(loaded.session);
  std::vector<float> x(100, 0.5f);
  tenon_tensor_t y;
  EXPECT_EQ(loaded.run(x, false, y), TENON_OK) << tenon_last_error();
}

TEST_F(PackageTest, RefusesAKernelWithoutABlock) {
  auto program = *module->getOps<exec::ProgramOp>().begin();
  std::vector<tenon_block_t> blocks = {{128, 0}};
  auto refused = writeArtifact(
      TargetProgram{TENON_TARGET_CUDA, program, *module, {}, {}, blocks},
      weights, folder + "/a.tenon", {"tiny", "test"});
  EXPECT_NE(llvm::toString(refused.takeError()).find("no code for the device"),
            std::string::npos);
  EXPECT_EQ(fileCount(), 0);
}

TEST_F(PackageTest, IsAnOrdinarySharedObject) {
  std::string path = folder + "/a.tenon";
  llvm::cantFail(write(path));
  std::string bytes = read(path);
  auto file = llvm::object::ELFObjectFile<llvm::object::ELF64LE>::create(
      llvm::MemoryBufferRef(bytes, path));
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  std::vector<std::string> exported;
  for (auto symbol : file->getDynamicSymbolIterators())
    exported.push_back(llvm::cantFail(symbol.getName()).str());
  EXPECT_EQ(exported, std::vector<std::string>{"tenon_model_descriptor"});
}

TEST_F(PackageTest, RefusesWithASentenceAndLeavesNothing) {
  auto missing = write(folder + "/none/a.tenon");
  EXPECT_NE(llvm::toString(missing.takeError()).find("cannot write"),
            std::string::npos);
  auto directory = write(folder);
  EXPECT_NE(llvm::toString(directory.takeError()).find("not a regular file"),
            std::string::npos);
  EXPECT_EQ(fileCount(), 0);
}

TEST_F(PackageTest, NamesTheKernelThatHasNoCode) {
  auto function = *module->getOps<kernel::FuncOp>().begin();
  auto program = *module->getOps<exec::ProgramOp>().begin();
  function.setSymName("renamed");
  for (auto launch : program.getOps<exec::LaunchOp>())
    launch.setKernel("renamed");
  auto refused = write(folder + "/a.tenon");
  EXPECT_NE(llvm::toString(refused.takeError()).find("renamed.x86-64-v3"),
            std::string::npos);
}

} // namespace
