//===- ModelFile.cpp - An ONNX file, opened and parsed --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/ModelFile.h"
#include "compiler/Import/WireScan.h"
#include "compiler/Weights/Printable.h"

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/stubs/logging.h"

#include <limits>

using namespace llvm;

namespace tenon {
namespace {

/// Protobuf counts bytes in an int.
constexpr size_t maxModelBytes = std::numeric_limits<int>::max() - 1;

/// Deeper than kMaxGraphDepth graphs (three messages each), so that these are
/// refused by name, and shallow enough for the stack.
constexpr int maxMessageDepth = 1000;

struct Signature {
  StringLiteral prefix;
  StringLiteral sentence;
};

constexpr Signature foreignFiles[] = {
    {"version https://git-lfs",
     "is a Git LFS pointer, not the model itself; run `git lfs pull`"},
    {"<!doctype", "is an HTML page, not a model; the download failed"},
    {"<html", "is an HTML page, not a model; the download failed"},
    {"<?xml", "is an XML file, not an ONNX model"},
    {"pk\x03\x04", "is a ZIP archive (perhaps a PyTorch checkpoint), not an "
                   "ONNX model; unpack or export it"},
    {"\x1f\x8b", "is compressed with gzip; unpack it"},
    {"gguf", "is a GGUF file, not an ONNX model"},
    {"\x7f"
     "elf",
     "is an ELF file, not an ONNX model"},
};

struct InnerSignature {
  size_t offset;
  StringLiteral text;
  StringLiteral sentence;
};

/// Of files that do not begin by what they are. A name in an ONNX file might
/// read the same, so they are looked for in what cannot be parsed alone.
constexpr InnerSignature foreignFormats[] = {
    {4, "ORTM",
     "is in ONNX Runtime's own format; compile the ONNX file it was made from"},
    {4, "TFL3", "is a TensorFlow Lite model, not an ONNX model"},
    {8, "{\"",
     "is perhaps a safetensors file, which has weights and no graph; export "
     "the model to ONNX"},
};

Error refuse(const Twine &sentence) {
  return createStringError(inconvertibleErrorCode(), sentence);
}

} // namespace

Expected<std::shared_ptr<ModelFile>> ModelFile::open(StringRef path) {
  auto prefix = [&](Error error) {
    return refuse(printable(path, 400) + ": " + toString(std::move(error)));
  };
  // Errors of the file system name the path themselves.
  Expected<std::shared_ptr<MappedFile>> file = MappedFile::open(path);
  if (!file)
    return file.takeError();
  Expected<std::shared_ptr<Folder>> folder = Folder::of(path);
  if (!folder)
    return folder.takeError();
  Expected<std::shared_ptr<ModelFile>> model = parse((*file)->bytes(), *folder);
  if (!model)
    return prefix(model.takeError());
  return model;
}

Expected<std::shared_ptr<ModelFile>>
ModelFile::parse(ArrayRef<char> bytes, std::shared_ptr<Folder> folder) {
  if (bytes.empty())
    return refuse("the file is empty");
  StringRef start(bytes.data(), std::min<size_t>(bytes.size(), 64));
  for (const Signature &signature : foreignFiles)
    if (start.starts_with_insensitive(signature.prefix))
      return refuse(Twine("the file ") + signature.sentence);
  if (bytes.size() > maxModelBytes)
    return refuse("the file has 2 GiB or more, which no ONNX model can have; "
                  "save its weights as external data");

  google::protobuf::LogSilencer silencer;
  google::protobuf::io::CodedInputStream stream(
      reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
  stream.SetTotalBytesLimit(std::numeric_limits<int>::max());
  stream.SetRecursionLimit(maxMessageDepth);
  std::shared_ptr<ModelFile> model(new ModelFile());
  model->folder = std::move(folder);
  if (!model->proto.ParseFromCodedStream(&stream) ||
      !stream.ConsumedEntireMessage()) {
    for (const InnerSignature &signature : foreignFormats)
      if (start.substr(signature.offset).starts_with(signature.text))
        return refuse(Twine("the file ") + signature.sentence);
    return refuse("the file is not an ONNX model, or it is damaged: " +
                  explainDamage(bytes));
  }
  return model;
}

Expected<std::shared_ptr<MappedFile>>
ModelFile::external(StringRef location) const {
  if (!folder)
    return refuse("external data at '" + printable(location) +
                  "' cannot be found: the model was not read from a file");
  std::shared_ptr<MappedFile> &file = externals[location];
  if (!file) {
    auto opened = MappedFile::openInside(*folder, location);
    if (!opened)
      return opened.takeError();
    file = *opened;
  }
  return file;
}

StringRef canonicalDomain(StringRef domain) {
  return domain == "ai.onnx" ? StringRef() : domain;
}

int64_t opsetOf(
    const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto> &imports,
    StringRef domain) {
  for (const onnx::OperatorSetIdProto &import : imports)
    if (canonicalDomain(import.domain()) == canonicalDomain(domain))
      return import.version();
  // Quantizers of ONNX Runtime leave it out, which takes its only version then.
  return domain == "com.microsoft" ? 1 : 0;
}

} // namespace tenon
