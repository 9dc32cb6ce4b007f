//===- Package.cpp - Writes the artifact file -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Package/Package.h"

#include "compiler/Package/ArtifactFile.h"
#include "compiler/Package/Image.h"
#include "runtime/model_format.h"

#include <cstddef>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace mlir;
using namespace tenon;

namespace {

/// Writes the weights and sums up each block of them.
class WeightsWriter {
public:
  explicit WeightsWriter(ArtifactFile &file) : file(file) {
    XXH3_64bits_reset(&block);
  }

  void write(ArrayRef<char> bytes) {
    file.write(bytes);
    while (!bytes.empty()) {
      size_t part = size_t(std::min<uint64_t>(bytes.size(), roomInBlock()));
      XXH3_64bits_update(&block, bytes.data(), part);
      written += part;
      bytes = bytes.drop_front(part);
      if (written % TENON_WEIGHTS_BLOCK == 0)
        endBlock();
    }
  }

  void padTo(uint64_t offset) {
    static const char zeros[TENON_BUFFER_ALIGN] = {};
    while (written < offset)
      write(
          {zeros, size_t(std::min<uint64_t>(offset - written, sizeof zeros))});
  }

  /// The sum of each block.
  const std::vector<uint64_t> &finish() {
    if (written % TENON_WEIGHTS_BLOCK != 0)
      endBlock();
    return sums;
  }

private:
  uint64_t roomInBlock() const {
    return TENON_WEIGHTS_BLOCK - written % TENON_WEIGHTS_BLOCK;
  }
  void endBlock() {
    sums.push_back(XXH3_64bits_digest(&block));
    XXH3_64bits_reset(&block);
  }

  ArtifactFile &file;
  uint64_t written = 0;
  XXH3_state_t block;
  std::vector<uint64_t> sums;
};

void writeWeights(ArtifactFile &file, const WeightPlan &plan,
                  tenon_footer_t &footer) {
  file.align(TENON_WEIGHTS_ALIGN);
  footer.weights_offset = file.size();
  footer.weights_bytes = plan.totalBytes();
  auto writer = std::make_unique<WeightsWriter>(file);
  for (const PlacedWeight &placed : plan.placed()) {
    writer->padTo(placed.offset);
    layOut(placed, [&](ArrayRef<char> bytes) { writer->write(bytes); });
  }
  const std::vector<uint64_t> &sums = writer->finish();
  file.align(8);
  footer.checksums_offset = file.size();
  size_t bytes = sums.size() * sizeof(uint64_t);
  footer.checksums_xxh3 = XXH3_64bits(sums.data(), bytes);
  file.write({reinterpret_cast<const char *>(sums.data()), bytes});
}

void writeFooter(ArtifactFile &file, const Image &image,
                 tenon_footer_t &footer) {
  footer.magic = TENON_FOOTER_MAGIC;
  footer.format_major = TENON_FORMAT_MAJOR;
  footer.format_minor = TENON_FORMAT_MINOR;
  footer.machine = TENON_MACHINE_X86_64;
  footer.image_bytes = image.bytes.size();
  footer.metadata_offset = image.metadataOffset;
  XXH128_hash_t sum = XXH3_128bits(image.bytes.data(), image.bytes.size());
  footer.image_xxh3[0] = sum.low64;
  footer.image_xxh3[1] = sum.high64;
  file.align(8);
  footer.file_bytes = file.size() + sizeof footer;
  footer.footer_xxh3 =
      XXH3_64bits(&footer, offsetof(tenon_footer_t, footer_xxh3));
  file.write({reinterpret_cast<const char *>(&footer), sizeof footer});
}

} // namespace

llvm::Expected<ArtifactSizes>
tenon::writeArtifact(ArrayRef<TargetProgram> programs,
                     const WeightStore &weights, StringRef path,
                     const PackageOptions &options) {
  WeightPlan plan(weights);
  std::vector<Metadata> metadata;
  std::vector<LevelCode> levels;
  for (const TargetProgram &program : programs) {
    auto built = buildMetadata(program, options, plan);
    if (!built)
      return built.takeError();
    metadata.push_back(std::move(*built));
    llvm::append_range(levels, program.levels);
  }
  auto image = buildImage(levels, metadata);
  if (!image)
    return image.takeError();
  auto file = ArtifactFile::create(path);
  if (!file)
    return file.takeError();
  tenon_footer_t footer;
  std::memset(&footer, 0, sizeof footer);
  footer.metadata_bytes = metadata.front().bytes.size();
  (*file)->write(ArrayRef<char>(image->bytes.data(), image->bytes.size()));
  writeWeights(**file, plan, footer);
  writeFooter(**file, *image, footer);
  if (llvm::Error error = (*file)->keep())
    return error;
  return ArtifactSizes{footer.image_bytes, footer.metadata_bytes,
                       footer.weights_bytes, footer.file_bytes};
}
