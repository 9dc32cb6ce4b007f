//===- TensorProtoFile.cpp - Tensors in ONNX's test data ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/TensorFile.h"

#include "compiler/Weights/MappedFile.h"
#include "compiler/Weights/Printable.h"
#include "onnx-ml.pb.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstring>

using namespace tenon;

llvm::Error tenon::sentence(const llvm::Twine &text) {
  return llvm::createStringError(text);
}

template <typename T, typename Values>
static bool copyValues(const Values &values, int64_t count, Tensor &tensor) {
  if (int64_t(values.size()) != count)
    return false;
  auto *target = tensor.bytes.data();
  for (const auto &value : values) {
    T element = T(value);
    std::memcpy(target, &element, sizeof element);
    target += sizeof element;
  }
  return true;
}

/// Fills in the values; false when their number is wrong.
static bool readValues(const onnx::TensorProto &proto, Tensor &tensor) {
  if (proto.has_raw_data()) {
    if (proto.raw_data().size() != tensor.bytes.size())
      return false;
    std::memcpy(tensor.bytes.data(), proto.raw_data().data(),
                tensor.bytes.size());
    return true;
  }
  int64_t count = tensor.count();
  switch (tensor.type) {
  case TENON_F32:
    return copyValues<float>(proto.float_data(), count, tensor);
  case TENON_F64:
    return copyValues<double>(proto.double_data(), count, tensor);
  case TENON_I64:
    return copyValues<int64_t>(proto.int64_data(), count, tensor);
  case TENON_U64:
    return copyValues<uint64_t>(proto.uint64_data(), count, tensor);
  case TENON_U32:
    return copyValues<uint32_t>(proto.uint64_data(), count, tensor);
  case TENON_I32:
    return copyValues<int32_t>(proto.int32_data(), count, tensor);
  case TENON_U8:
  case TENON_I8:
  case TENON_BOOL:
    return copyValues<uint8_t>(proto.int32_data(), count, tensor);
  default: // 16 bits wide
    return copyValues<uint16_t>(proto.int32_data(), count, tensor);
  }
}

llvm::Expected<NamedTensor> tenon::readTensorProto(llvm::StringRef path) {
  auto file = MappedFile::open(path);
  if (!file)
    return file.takeError();
  llvm::ArrayRef<char> bytes = (*file)->bytes();
  onnx::TensorProto proto;
  if (bytes.size() > INT32_MAX ||
      !proto.ParseFromArray(bytes.data(), int(bytes.size())))
    return sentence(path + ": not an ONNX tensor");
  NamedTensor result;
  result.name = proto.name();
  Tensor &tensor = result.tensor;
  tensor.type = uint32_t(proto.data_type());
  tensor.dims.assign(proto.dims().begin(), proto.dims().end());
  if (!bytesOfType(tensor.type))
    return sentence(path + ": holds " + describe(tensor.type, tensor.dims) +
                    ", an element type that Tenon does not compute with");
  auto size = bytesOfTensor(tensor.type, tensor.dims);
  // No element needs less than a byte of the file.
  if (!size || *size > 16 * bytes.size() + 64 ||
      proto.data_location() == onnx::TensorProto::EXTERNAL)
    return sentence(path + ": its values do not fill " +
                    describe(tensor.type, tensor.dims));
  tensor.bytes.resize(*size);
  if (!readValues(proto, tensor))
    return sentence(path + ": its values do not fill " +
                    describe(tensor.type, tensor.dims));
  return result;
}

llvm::Expected<std::vector<NamedTensor>>
tenon::readDataSet(llvm::StringRef folder, llvm::StringRef prefix) {
  std::vector<NamedTensor> tensors;
  for (;;) {
    llvm::SmallString<128> stem(folder);
    llvm::sys::path::append(stem, prefix + "_" + llvm::Twine(tensors.size()));
    std::string proto = (stem + ".pb").str(), npy = (stem + ".npy").str();
    if (llvm::sys::fs::exists(proto)) {
      auto tensor = readTensorProto(proto);
      if (!tensor)
        return tensor.takeError();
      tensors.push_back(std::move(*tensor));
    } else if (llvm::sys::fs::exists(npy)) {
      auto tensor = readNpy(npy);
      if (!tensor)
        return tensor.takeError();
      tensors.push_back({"", std::move(*tensor)});
    } else {
      return tensors;
    }
  }
}
