//===- TensorDataTest.cpp - The values of a TensorProto -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/TensorData.h"
#include "mlir/IR/BuiltinTypes.h"
#include <cstring>
#include <gtest/gtest.h>

namespace tenon {
namespace {

using onnx::TensorProto;

class TensorDataTest : public testing::Test {
protected:
  /// The one initializer of a parsed model, read.
  TensorData read(const TensorProto &tensor) {
    onnx::ModelProto model;
    model.set_ir_version(8);
    *model.mutable_graph()->add_initializer() = tensor;
    auto parsed = ModelFile::parse(model.SerializeAsString());
    EXPECT_TRUE(bool(parsed));
    file = *parsed;
    const TensorProto &own = file->model().graph().initializer(0);
    EXPECT_FALSE(bool(checkTensor(own, *file)));
    auto data = readTensor(own, file, &context);
    EXPECT_TRUE(bool(data));
    return data ? *data : TensorData();
  }
  template <typename T> std::vector<T> values(const TensorData &data) {
    std::vector<T> result(data.bytes.size() / sizeof(T));
    std::memcpy(result.data(), data.bytes.data(), data.bytes.size());
    return result;
  }
  static TensorProto tensor(int type, std::vector<int64_t> dims) {
    TensorProto proto;
    proto.set_data_type(type);
    for (int64_t dim : dims)
      proto.add_dims(dim);
    return proto;
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  std::shared_ptr<ModelFile> file;
};

TEST_F(TensorDataTest, RawDataIsNotCopied) {
  TensorProto proto = tensor(TensorProto::FLOAT, {2});
  float numbers[] = {1.5f, -2.0f};
  proto.set_raw_data(numbers, sizeof(numbers));
  TensorData data = read(proto);
  EXPECT_EQ(values<float>(data), (std::vector<float>{1.5f, -2.0f}));
  const std::string &raw = file->model().graph().initializer(0).raw_data();
  EXPECT_EQ(static_cast<const void *>(data.bytes.data()), raw.data());
}

TEST_F(TensorDataTest, NarrowTypesAreTakenFromWideFields) {
  TensorProto bytes = tensor(TensorProto::INT8, {3});
  for (int value : {-128, -1, 127})
    bytes.add_int32_data(value);
  EXPECT_EQ(values<int8_t>(read(bytes)), (std::vector<int8_t>{-128, -1, 127}));
  TensorProto half = tensor(TensorProto::FLOAT16, {1});
  half.add_int32_data(0x3c00);
  EXPECT_EQ(values<uint16_t>(read(half)), std::vector<uint16_t>{0x3c00});
  TensorProto words = tensor(TensorProto::UINT32, {1});
  words.add_uint64_data(0xffffffff);
  EXPECT_EQ(values<uint32_t>(read(words)), std::vector<uint32_t>{0xffffffff});
}

TEST_F(TensorDataTest, BoolsAreZeroOrOne) {
  TensorProto proto = tensor(TensorProto::BOOL, {3});
  proto.set_raw_data(std::string("\0\2\1", 3));
  EXPECT_EQ(values<char>(read(proto)), (std::vector<char>{0, 1, 1}));
}

TEST_F(TensorDataTest, PackedIntegersAreWidened) {
  TensorProto nibbles = tensor(TensorProto::INT4, {3});
  nibbles.set_raw_data(std::string("\x7f\x08", 2));
  TensorData data = read(nibbles);
  EXPECT_EQ(values<int8_t>(data), (std::vector<int8_t>{-1, 7, -8}));
  EXPECT_TRUE(data.elementType.isSignlessInteger(8));
  TensorProto pairs = tensor(TensorProto::UINT2, {5});
  pairs.set_raw_data(std::string("\xe4\x03", 2));
  EXPECT_EQ(values<uint8_t>(read(pairs)),
            (std::vector<uint8_t>{0, 1, 2, 3, 3}));
}

TEST_F(TensorDataTest, FloatsOfFewBitsAreBf16) {
  TensorProto eighths = tensor(TensorProto::FLOAT8E4M3FN, {4});
  eighths.set_raw_data(std::string("\x38\xc0\x7e\x01", 4)); // 1, -2, 448, 2^-9
  TensorData data = read(eighths);
  EXPECT_TRUE(data.elementType.isBF16());
  EXPECT_TRUE(mlir::isa<mlir::Float8E4M3FNType>(data.fewBits));
  EXPECT_FALSE(data.isNarrow);
  EXPECT_EQ(values<uint16_t>(data),
            (std::vector<uint16_t>{0x3f80, 0xc000, 0x43e0, 0x3b00}));
  TensorProto fourths = tensor(TensorProto::FLOAT4E2M1, {3});
  fourths.set_raw_data(std::string("\x72\x0f", 2)); // 1, 6, -6
  EXPECT_EQ(values<uint16_t>(read(fourths)),
            (std::vector<uint16_t>{0x3f80, 0x40c0, 0xc0c0}));
  TensorProto powers = tensor(TensorProto::FLOAT8E8M0, {2});
  powers.set_raw_data(std::string("\x80\x01", 2)); // 2, 2^-126
  EXPECT_EQ(values<uint16_t>(read(powers)),
            (std::vector<uint16_t>{0x4000, 0x0080}));
}

TEST_F(TensorDataTest, EmptyTensorsNeedNoData) {
  TensorData data = read(tensor(TensorProto::FLOAT, {0, 4}));
  EXPECT_TRUE(data.bytes.empty());
  EXPECT_EQ(data.shape.size(), 2u);
}

TEST_F(TensorDataTest, ValuesInTheFieldOfAnotherTypeAreRefused) {
  onnx::ModelProto model;
  TensorProto &proto = *model.mutable_graph()->add_initializer();
  proto = tensor(TensorProto::FLOAT, {1});
  proto.add_int64_data(1);
  auto parsed = ModelFile::parse(model.SerializeAsString());
  ASSERT_TRUE(bool(parsed));
  llvm::Error error =
      checkTensor((*parsed)->model().graph().initializer(0), **parsed);
  EXPECT_EQ(llvm::toString(std::move(error)),
            "tensor '' has its values in a field that is not the one of its "
            "element type float");
}

} // namespace
} // namespace tenon
