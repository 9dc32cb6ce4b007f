//===- ArtifactBuilder.cpp - Small artifacts for tests --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/runtime/ArtifactBuilder.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <sstream>
#include <sys/mman.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace tenon::test;

namespace {
std::string readFile(const char *path) {
  std::ifstream stream(path, std::ios::binary);
  std::stringstream contents;
  contents << stream.rdbuf();
  return contents.str();
}

void pad(std::string &bytes, size_t alignment) {
  bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
}
} // namespace

ArtifactBuilder::ArtifactBuilder() : image(readFile(TENON_TEST_KERNELS)) {
  header.model_name = string("tiny");
  header.producer = string("test");
  level("baseline", 0);
}

uint32_t ArtifactBuilder::expr(Words more) {
  exprs.push_back({uint32_t(words.size()), uint32_t(more.size())});
  words.insert(words.end(), more.begin(), more.end());
  return uint32_t(exprs.size() - 1);
}

uint32_t ArtifactBuilder::linear(uint32_t symbol, int64_t factor,
                                 int64_t addend) {
  return expr({TENON_PUSH_SYMBOL, symbol, TENON_PUSH_CONSTANT, factor,
               TENON_MUL, TENON_PUSH_CONSTANT, addend, TENON_ADD});
}

uint32_t ArtifactBuilder::symbol(const std::string &name, int64_t lo,
                                 int64_t hi) {
  symbols.push_back({string(name), lo, hi});
  return uint32_t(symbols.size() - 1);
}

uint32_t ArtifactBuilder::input(const std::string &name, tenon_dtype_t dtype,
                                const std::vector<uint32_t> &shape) {
  inputs.push_back({string(name), uint32_t(dtype), uint32_t(shape.size()),
                    uint32_t(dims.size()), 0});
  dims.insert(dims.end(), shape.begin(), shape.end());
  return uint32_t(inputs.size() - 1);
}

uint32_t ArtifactBuilder::output(const std::string &name, tenon_dtype_t dtype,
                                 const std::vector<uint32_t> &shape) {
  outputs.push_back({string(name), uint32_t(dtype), uint32_t(shape.size()),
                     uint32_t(dims.size()), 0});
  dims.insert(dims.end(), shape.begin(), shape.end());
  return uint32_t(outputs.size() - 1);
}

uint32_t ArtifactBuilder::segment(uint32_t bytes) {
  segments.push_back({bytes, 0});
  return uint32_t(segments.size() - 1);
}

uint32_t ArtifactBuilder::level(const std::string &name, uint64_t features) {
  levels.push_back({string(name), features});
  return uint32_t(levels.size() - 1);
}

uint32_t ArtifactBuilder::kernel(const std::string &symbol) {
  kernels.push_back({string(symbol), string("Generic")});
  code.insert(code.end(), levels.size(), address(symbol));
  return uint32_t(kernels.size() - 1);
}

void ArtifactBuilder::forDevices() {
  header.target = TENON_TARGET_CUDA;
  levels.clear();
}

uint32_t ArtifactBuilder::deviceKernel(const std::string &symbol,
                                       uint32_t threads, uint32_t sharedBytes) {
  kernels.push_back({string(symbol), string("Generic")});
  blocks.push_back({threads, sharedBytes});
  return uint32_t(kernels.size() - 1);
}

void ArtifactBuilder::addImage(tenon_image_kind_t kind, uint32_t sm,
                               const std::string &bytes, bool waits) {
  pad(image, 64);
  uint64_t end = kind == TENON_IMAGE_PTX;
  images.push_back({uint32_t(kind) | (waits ? TENON_IMAGE_WAITS : 0), sm,
                    image.size(), bytes.size() + end});
  image += bytes;
  image.append(end, '\0');
}

void ArtifactBuilder::next(const std::string &metadata) {
  pad(image, 64);
  header.next_offset = image.size();
  header.next_bytes = metadata.size();
  image += metadata;
}

uint32_t ArtifactBuilder::addBuffers(const std::vector<tenon_buffer_t> &list) {
  uint32_t first = uint32_t(buffers.size());
  for (tenon_buffer_t buffer : list) {
    if (buffer.place != TENON_PLACE_NONE && buffer.offset == UINT32_MAX)
      buffer.offset = constant(0);
    buffers.push_back(buffer);
  }
  return first;
}

uint32_t ArtifactBuilder::addNodes(const std::vector<std::string> &list) {
  uint32_t first = uint32_t(nodes.size());
  for (const std::string &name : list)
    nodes.push_back(string(name));
  return first;
}

void ArtifactBuilder::launch(const Launch &launch) {
  tenon_step_t made = {};
  made.kind = TENON_STEP_LAUNCH;
  made.a = launch.kernel;
  made.b = launch.rows;
  made.c = launch.grain == UINT32_MAX ? constant(1) : launch.grain;
  made.d = launch.scratch == UINT32_MAX ? constant(0) : launch.scratch;
  made.shared = launch.shared == UINT32_MAX ? 0 : launch.shared + 1;
  made.first_buffer = addBuffers(launch.buffers);
  made.buffer_count = uint32_t(launch.buffers.size());
  made.first_param = uint32_t(params.size());
  made.param_count = uint32_t(launch.params.size());
  params.insert(params.end(), launch.params.begin(), launch.params.end());
  made.first_node = addNodes(launch.nodes);
  made.node_count = uint32_t(launch.nodes.size());
  steps.push_back(made);
}

tenon_step_t &ArtifactBuilder::step(tenon_step_kind_t kind, uint32_t a,
                                    uint32_t b, uint32_t c,
                                    const std::vector<tenon_buffer_t> &operands,
                                    const std::vector<std::string> &names) {
  tenon_step_t made = {};
  made.kind = kind;
  made.a = a;
  made.b = b;
  made.c = c;
  made.first_buffer = addBuffers(operands);
  made.buffer_count = uint32_t(operands.size());
  made.first_node = addNodes(names);
  made.node_count = uint32_t(names.size());
  steps.push_back(made);
  return steps.back();
}

tenon_string_t ArtifactBuilder::string(const std::string &text) {
  tenon_string_t made = {uint32_t(sizeof(tenon_metadata_t) + strings.size()),
                         uint32_t(text.size())};
  strings += text;
  return made;
}

uint64_t ArtifactBuilder::address(const std::string &symbol) const {
  Elf64_Ehdr elf;
  memcpy(&elf, image.data(), sizeof elf);
  auto section = [&](unsigned index) {
    Elf64_Shdr result;
    memcpy(&result, image.data() + elf.e_shoff + index * sizeof result,
           sizeof result);
    return result;
  };
  for (unsigned i = 0; i < elf.e_shnum; ++i) {
    Elf64_Shdr table = section(i);
    if (table.sh_type != SHT_DYNSYM)
      continue;
    const char *names = image.data() + section(table.sh_link).sh_offset;
    for (uint64_t at = 0; at < table.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym entry;
      memcpy(&entry, image.data() + table.sh_offset + at, sizeof entry);
      if (names + entry.st_name == symbol)
        return entry.st_value;
    }
  }
  ADD_FAILURE() << "kernels.c has no " << symbol;
  return 0;
}

std::string ArtifactBuilder::buildMetadata() {
  std::string bytes(sizeof header, '\0');
  bytes += strings;
  auto add = [&](const auto &table) {
    pad(bytes, 8);
    tenon_table_t made = {uint32_t(bytes.size()), uint32_t(table.size())};
    bytes.append(reinterpret_cast<const char *>(table.data()),
                 table.size() * sizeof(table[0]));
    return made;
  };
  header.levels = add(levels);
  header.kernels = add(kernels);
  header.code = add(code);
  header.symbols = add(symbols);
  header.inputs = add(inputs);
  header.outputs = add(outputs);
  header.segments = add(segments);
  header.steps = add(steps);
  header.buffers = add(buffers);
  header.params = add(params);
  header.dims = add(dims);
  header.exprs = add(exprs);
  header.words = add(words);
  header.nodes = add(nodes);
  header.weights = add(weightTable);
  header.costs = add(costs);
  header.images = add(images);
  header.blocks = add(blocks);
  pad(bytes, 8);
  header.bytes = uint32_t(bytes.size());
  memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

std::string ArtifactBuilder::wrap(const std::string &metadata) {
  std::string file = image;
  pad(file, 64);
  tenon_footer_t footer = {};
  footer.magic = TENON_FOOTER_MAGIC;
  footer.format_major = TENON_FORMAT_MAJOR;
  footer.format_minor = TENON_FORMAT_MINOR;
  footer.machine = TENON_MACHINE_X86_64;
  footer.metadata_offset = file.size();
  footer.metadata_bytes = metadata.size();
  file += metadata;
  footer.image_bytes = file.size();
  pad(file, TENON_WEIGHTS_ALIGN);
  footer.weights_offset = file.size();
  footer.weights_bytes = weights.size();
  file += weights;
  pad(file, 8);
  footer.checksums_offset = file.size();
  std::string sums;
  for (size_t at = 0; at < weights.size(); at += TENON_WEIGHTS_BLOCK) {
    std::string block = weights.substr(at, TENON_WEIGHTS_BLOCK);
    uint64_t sum = XXH3_64bits(block.data(), block.size());
    sums.append(reinterpret_cast<const char *>(&sum), sizeof sum);
  }
  footer.checksums_xxh3 = XXH3_64bits(sums.data(), sums.size());
  file += sums;
  file.append(sizeof footer, '\0');
  footer.file_bytes = file.size();
  setFooter(file, footer);
  sealArtifact(file);
  return file;
}

std::string ArtifactBuilder::build() { return wrap(buildMetadata()); }

tenon_footer_t tenon::test::footerOf(const std::string &file) {
  tenon_footer_t footer;
  memcpy(&footer, file.data() + file.size() - sizeof footer, sizeof footer);
  return footer;
}

void tenon::test::setFooter(std::string &file, const tenon_footer_t &footer) {
  memcpy(file.data() + file.size() - sizeof footer, &footer, sizeof footer);
}

void tenon::test::sealArtifact(std::string &file) {
  tenon_footer_t footer = footerOf(file);
  if (footer.image_bytes <= file.size()) {
    XXH128_hash_t sum = XXH3_128bits(file.data(), footer.image_bytes);
    footer.image_xxh3[0] = sum.low64;
    footer.image_xxh3[1] = sum.high64;
  }
  footer.footer_xxh3 =
      XXH3_64bits(&footer, offsetof(tenon_footer_t, footer_xxh3));
  setFooter(file, footer);
}

TemporaryFile::TemporaryFile(const std::string &contents)
    : descriptor(memfd_create("tenon", MFD_CLOEXEC)),
      name("/proc/self/fd/" + std::to_string(descriptor)) {
  EXPECT_GE(descriptor, 0);
  overwrite(contents);
}

void TemporaryFile::overwrite(const std::string &contents) const {
  EXPECT_EQ(ftruncate(descriptor, off_t(contents.size())), 0);
  EXPECT_EQ(pwrite(descriptor, contents.data(), contents.size(), 0),
            ssize_t(contents.size()));
}

TemporaryFile::~TemporaryFile() { close(descriptor); }
