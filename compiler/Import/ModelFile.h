//===- ModelFile.h - An ONNX file, opened and parsed ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens a model of any origin. What comes back was parsed to its last byte; its
// content is checked by CheckModel.h, which importModel calls.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_IMPORT_MODELFILE_H
#define TENON_COMPILER_IMPORT_MODELFILE_H

#include "compiler/Weights/MappedFile.h"

#include "onnx-ml.pb.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace tenon {

/// How deep If, Loop and Scan bodies may nest.
inline constexpr int kMaxGraphDepth = 64;

class ModelFile {
public:
  /// Opens and parses `path`. An error is one sentence that names the file.
  static llvm::Expected<std::shared_ptr<ModelFile>> open(llvm::StringRef path);

  /// Parses bytes. External data is looked up in `folder`; without one, a
  /// model that has any is refused.
  static llvm::Expected<std::shared_ptr<ModelFile>>
  parse(llvm::ArrayRef<char> bytes, std::shared_ptr<Folder> folder = nullptr);

  const onnx::ModelProto &model() const { return proto; }

  /// The file of external data at `location`; mapped once.
  llvm::Expected<std::shared_ptr<MappedFile>>
  external(llvm::StringRef location) const;

private:
  ModelFile() = default;

  onnx::ModelProto proto;
  std::shared_ptr<Folder> folder;
  mutable llvm::StringMap<std::shared_ptr<MappedFile>> externals;
};

/// The opset of `domain` among imports; where it is not there 1 of
/// "com.microsoft", else 0. "ai.onnx" is the default domain.
int64_t
opsetOf(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto> &,
        llvm::StringRef domain);

/// "" for "ai.onnx", else the domain itself.
llvm::StringRef canonicalDomain(llvm::StringRef domain);

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_MODELFILE_H
