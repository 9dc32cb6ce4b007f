//===- TensorFileTest.cpp - .npy and .pb files, good and bad --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/TensorFile.h"

#include "onnx-ml.pb.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

#include <cstring>

using namespace tenon;

namespace {

struct TensorFileTest : testing::Test {
  llvm::SmallString<128> folder;
  std::string path;

  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("tensors", folder));
    path = (folder + "/x").str();
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  void write(llvm::StringRef bytes) {
    std::error_code error;
    llvm::raw_fd_ostream(path, error) << bytes;
    ASSERT_FALSE(error);
  }
  void writeNpyHeader(const std::string &header, const std::string &values) {
    std::string bytes("\x93NUMPY\x01\0", 8);
    bytes += char(header.size());
    bytes += '\0';
    write(bytes + header + values);
  }
  std::string npyError() { return llvm::toString(readNpy(path).takeError()); }
  std::string protoError(const onnx::TensorProto &proto) {
    write(proto.SerializeAsString());
    return llvm::toString(readTensorProto(path).takeError());
  }
};

bool contains(const std::string &text, const char *part) {
  return text.find(part) != std::string::npos;
}

TEST_F(TensorFileTest, NpyKeepsTypeShapeAndValues) {
  for (uint32_t type : {TENON_F32, TENON_F64, TENON_F16, TENON_BOOL, TENON_U8,
                        TENON_I64, TENON_U32})
    for (std::vector<int64_t> dims :
         {std::vector<int64_t>{2, 3}, {}, {4}, {0, 2}}) {
      Tensor tensor{type, dims, {}};
      tensor.bytes.assign(*bytesOfTensor(type, dims), 1);
      ASSERT_FALSE(bool(writeNpy(path, tensor)));
      auto back = readNpy(path);
      ASSERT_TRUE(bool(back)) << llvm::toString(back.takeError());
      EXPECT_EQ(back->type, type);
      EXPECT_EQ(back->dims, dims);
      EXPECT_EQ(back->bytes, tensor.bytes);
    }
}

TEST_F(TensorFileTest, NpyOfBf16IsF32) {
  Tensor tensor{TENON_BF16, {1}, {char(0x80), 0x3f}};
  ASSERT_FALSE(bool(writeNpy(path, tensor)));
  auto back = llvm::cantFail(readNpy(path));
  EXPECT_EQ(back.type, uint32_t(TENON_F32));
  EXPECT_EQ(elementAsDouble(back, 0), 1);
}

TEST_F(TensorFileTest, BadNpyIsRefusedWithItsReason) {
  const std::string c = "'fortran_order': False, ", four(4, 'x');
  writeNpyHeader("{'descr': '>f4', " + c + "'shape': (1,), }", four);
  EXPECT_TRUE(contains(npyError(), "big-endian"));
  writeNpyHeader("{'descr': '|O', " + c + "'shape': (1,), }", four);
  EXPECT_TRUE(contains(npyError(), "Python objects"));
  writeNpyHeader("{'descr': '<c8', " + c + "'shape': (1,), }", four);
  EXPECT_TRUE(contains(npyError(), "'<c8'"));
  writeNpyHeader("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }",
                 four);
  EXPECT_TRUE(contains(npyError(), "Fortran"));
  writeNpyHeader("{'descr': '<f4', " + c + "'shape': (2,), }", four);
  EXPECT_TRUE(contains(npyError(), "do not fill f32[2]"));
  writeNpyHeader("{'descr': '<f4', " + c + "'shape': (-1,), }", four);
  EXPECT_TRUE(contains(npyError(), "valid shape"));
  writeNpyHeader(
      "{'descr': '<f4', " + c + "'shape': (9223372036854775807, 3), }", four);
  EXPECT_TRUE(contains(npyError(), "do not fill"));
  write("\x93NUMPY");
  EXPECT_TRUE(contains(npyError(), "not a .npy file"));
  llvm::sys::fs::remove(path);
  EXPECT_TRUE(contains(npyError(), "No such file"));
}

TEST_F(TensorFileTest, ProtoFieldsHoldEachType) {
  onnx::TensorProto proto;
  proto.add_dims(2);
  proto.set_data_type(onnx::TensorProto::FLOAT16);
  proto.add_int32_data(0x3c00);
  proto.add_int32_data(0xc000);
  write(proto.SerializeAsString());
  Tensor half = llvm::cantFail(readTensorProto(path)).tensor;
  EXPECT_EQ(elementAsDouble(half, 1), -2);

  proto.clear_int32_data();
  proto.set_data_type(onnx::TensorProto::UINT32);
  proto.add_uint64_data(1);
  proto.add_uint64_data(4000000000);
  write(proto.SerializeAsString());
  Tensor words = llvm::cantFail(readTensorProto(path)).tensor;
  EXPECT_EQ(elementAsInteger(words, 1), 4000000000);
}

TEST_F(TensorFileTest, BadProtosAreRefused) {
  onnx::TensorProto proto;
  proto.add_dims(2);
  proto.set_data_type(onnx::TensorProto::FLOAT);
  proto.add_float_data(1);
  EXPECT_TRUE(contains(protoError(proto), "do not fill f32[2]"));
  proto.set_dims(0, int64_t(1) << 60);
  EXPECT_TRUE(contains(protoError(proto), "do not fill"));
  proto.set_data_type(onnx::TensorProto::STRING);
  EXPECT_TRUE(contains(protoError(proto), "does not compute with"));
}

} // namespace
