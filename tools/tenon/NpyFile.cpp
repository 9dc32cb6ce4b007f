//===- NpyFile.cpp - Tensors in NumPy's .npy files ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/TensorFile.h"

#include "compiler/Weights/MappedFile.h"
#include "compiler/Weights/Printable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace tenon;
using llvm::StringRef;

namespace {

constexpr char magic[] = "\x93NUMPY";
constexpr size_t magicBytes = 6;

struct TypeCode {
  const char *code; // Without the byte order.
  uint32_t type;
};
constexpr TypeCode typeCodes[] = {
    {"f4", TENON_F32}, {"f8", TENON_F64}, {"f2", TENON_F16}, {"i1", TENON_I8},
    {"i2", TENON_I16}, {"i4", TENON_I32}, {"i8", TENON_I64}, {"u1", TENON_U8},
    {"u2", TENON_U16}, {"u4", TENON_U32}, {"u8", TENON_U64}, {"b1", TENON_BOOL},
};

/// What follows `'KEY':` in the header's dictionary.
StringRef valueOf(StringRef header, StringRef key) {
  size_t at = header.find(("'" + key + "'").str());
  if (at == StringRef::npos)
    return "";
  StringRef rest = header.drop_front(at + key.size() + 2).ltrim();
  return rest.consume_front(":") ? rest.ltrim() : "";
}

/// The element type, or why there is none.
uint32_t parseType(StringRef header, std::string &reason) {
  StringRef value = valueOf(header, "descr");
  value.consume_front("'");
  StringRef code = value.take_until([](char c) { return c == '\''; });
  if (code.starts_with(">"))
    reason = "is big-endian";
  else if (code.starts_with("|O"))
    reason = "holds Python objects";
  for (const TypeCode &known : typeCodes)
    if (code.size() == 3 && code.drop_front() == known.code && reason.empty())
      return known.type;
  if (reason.empty())
    reason = "has an element type '" + printable(code, 20) +
             "' that Tenon does not compute with";
  return 0;
}

bool parseDims(StringRef header, std::vector<int64_t> &dims) {
  StringRef value = valueOf(header, "shape");
  if (!value.consume_front("("))
    return false;
  size_t end = value.find(')');
  if (end == StringRef::npos)
    return false;
  llvm::SmallVector<StringRef> parts;
  value.take_front(end).split(parts, ',', -1, false);
  for (StringRef part : parts) {
    if (part.trim().empty())
      continue;
    int64_t dim;
    if (part.trim().getAsInteger(10, dim) || dim < 0)
      return false;
    dims.push_back(dim);
  }
  return dims.size() <= TENON_MAX_RANK;
}

/// Splits a file into its header and its values.
bool split(StringRef file, StringRef &header, StringRef &values) {
  if (!file.consume_front(StringRef(magic, magicBytes)) || file.size() < 6)
    return false;
  bool longHeader = file[0] >= 2;
  size_t length = longHeader ? llvm::support::endian::read32le(file.data() + 2)
                             : llvm::support::endian::read16le(file.data() + 2);
  file = file.drop_front(longHeader ? 6 : 4);
  if (length > file.size())
    return false;
  header = file.take_front(length);
  values = file.drop_front(length);
  return true;
}

} // namespace

llvm::Expected<Tensor> tenon::readNpy(StringRef path) {
  auto file = MappedFile::open(path);
  if (!file)
    return file.takeError();
  StringRef header, values;
  StringRef all((*file)->bytes().data(), (*file)->bytes().size());
  if (!split(all, header, values))
    return sentence(path + ": not a .npy file");
  Tensor tensor;
  std::string reason;
  tensor.type = parseType(header, reason);
  if (reason.empty() && !parseDims(header, tensor.dims))
    reason = "has a header without a valid shape";
  if (reason.empty() && !valueOf(header, "fortran_order").starts_with("False"))
    reason = "is in Fortran order; save numpy.ascontiguousarray(x) instead";
  if (!reason.empty())
    return sentence(path + ": the array " + reason);
  auto bytes = bytesOfTensor(tensor.type, tensor.dims);
  if (!bytes || *bytes != values.size())
    return sentence(path + ": its values do not fill " +
                    describe(tensor.type, tensor.dims));
  tensor.bytes.assign(values.begin(), values.end());
  return tensor;
}

/// bf16 as f32, which holds each of its values.
static Tensor widened(const Tensor &tensor) {
  Tensor wide{TENON_F32, tensor.dims, {}};
  wide.bytes.resize(tensor.bytes.size() * 2);
  for (size_t i = 0; i < tensor.bytes.size() / 2; ++i) {
    std::memset(wide.bytes.data() + i * 4, 0, 2);
    std::memcpy(wide.bytes.data() + i * 4 + 2, tensor.bytes.data() + i * 2, 2);
  }
  return wide;
}

llvm::Error tenon::writeNpy(StringRef path, const Tensor &tensor) {
  if (tensor.type == TENON_BF16)
    return writeNpy(path, widened(tensor));
  std::string code;
  for (const TypeCode &known : typeCodes)
    if (known.type == tensor.type)
      code = known.code;
  std::string shape;
  for (int64_t dim : tensor.dims)
    shape += std::to_string(dim) + ",";
  std::string order = *bytesOfType(tensor.type) == 1 ? "|" : "<";
  std::string header = "{'descr': '" + order + code +
                       "', 'fortran_order': False, 'shape': (" + shape + "), }";
  // The values start at a multiple of 64 bytes.
  header.append(63 - (magicBytes + 4 + header.size()) % 64, ' ');
  header += '\n';
  char lengths[4] = {1, 0, char(header.size() & 255), char(header.size() >> 8)};

  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  if (!error) {
    file << StringRef(magic, magicBytes) << StringRef(lengths, 4) << header;
    file.write(tensor.bytes.data(), tensor.bytes.size());
    file.close();
    error = file.error();
  }
  file.clear_error();
  if (error)
    return sentence(path + ": cannot write: " + error.message());
  return llvm::Error::success();
}
