//===- Image.cpp - Object code and metadata as one ELF shared object ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Package/Image.h"

#include "lld/Common/Driver.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

using namespace llvm;
using namespace tenon;

namespace {

/// A file in memory, so that nothing is left behind on any disk. The linker
/// finds it by a path.
class MemoryFile {
public:
  explicit MemoryFile(const char *name)
      : descriptor(::memfd_create(name, MFD_CLOEXEC)) {}
  ~MemoryFile() {
    if (descriptor >= 0)
      ::close(descriptor);
  }
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;

  std::string path() const {
    return "/proc/self/fd/" + std::to_string(descriptor);
  }

  bool write(ArrayRef<char> bytes) {
    while (!bytes.empty()) {
      ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
      if (written <= 0)
        return false;
      bytes = bytes.drop_front(size_t(written));
    }
    return descriptor >= 0;
  }

private:
  int descriptor;
};

/// A folder for the linker's output, which it insists to make itself.
class ScratchFolder {
public:
  ScratchFolder() {
    failed = bool(sys::fs::createUniqueDirectory("tenon-link", path));
  }
  ~ScratchFolder() {
    if (!failed)
      sys::fs::remove_directories(path);
  }
  ScratchFolder(const ScratchFolder &) = delete;
  ScratchFolder &operator=(const ScratchFolder &) = delete;

  bool ok() const { return !failed; }
  std::string file(StringRef name) const { return (path + "/" + name).str(); }

private:
  SmallString<128> path;
  bool failed;
};

Error internalError(const Twine &reason) {
  return createStringError("internal error: " + reason +
                           "; please report this");
}

Error noMemory() {
  return createStringError("there is no memory for the code of the model");
}

/// What the linker makes of files; archives count with all that is in them.
Expected<std::string> runLinker(std::vector<std::string> arguments,
                                ArrayRef<std::string> files) {
  ScratchFolder scratch;
  if (!scratch.ok())
    return createStringError("there is no place for temporary files");
  std::string output = scratch.file("image");
  arguments.insert(arguments.begin(), "ld.lld");
  llvm::append_values(arguments, "--threads=1", "-o", output,
                      "--whole-archive");
  llvm::append_range(arguments, files);
  std::vector<const char *> pointers;
  for (const std::string &argument : arguments)
    pointers.push_back(argument.c_str());
  std::string messages;
  raw_string_ostream stream(messages);
  lld::Result result =
      lld::lldMain(pointers, stream, stream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0)
    return internalError("the linker says: " +
                         StringRef(messages).split('\n').first);
  auto linked = MemoryBuffer::getFile(output);
  if (!linked)
    return internalError("the linker wrote nothing");
  return (*linked)->getBuffer().str();
}

/// A file of an artifact. Its names are the linker's alone, but for one.
Expected<std::string> link(ArrayRef<std::string> files, StringRef script) {
  return runLinker({"-shared", "--no-undefined", "-Bsymbolic",
                    "--build-id=none", "--hash-style=gnu", "--eh-frame-hdr",
                    "-z", "noexecstack", "-z", "norelro", "-z",
                    "max-page-size=4096", "--version-script", script.str()},
                   files);
}

/// The file as the linker sees it: symbols with their addresses.
class LinkedFile {
public:
  static Expected<LinkedFile> parse(StringRef bytes) {
    auto file = object::ELFFile<object::ELF64LE>::create(bytes);
    if (!file)
      return file.takeError();
    LinkedFile linked(*file);
    if (Error error = linked.readSymbols())
      return error;
    return linked;
  }

  /// 0 when there is no such symbol.
  uint64_t address(StringRef name) const { return addresses.lookup(name); }

  /// Where the byte at an address lies in the file.
  Expected<uint64_t> offset(uint64_t address) const {
    auto headers = file.program_headers();
    if (!headers)
      return headers.takeError();
    for (const auto &header : *headers)
      if (header.p_type == ELF::PT_LOAD && address >= header.p_vaddr &&
          address - header.p_vaddr < header.p_filesz)
        return address - header.p_vaddr + header.p_offset;
    return internalError("the linker lost the metadata");
  }

  /// Fails when a loader would have to do anything but map.
  Error checkSelfContained() const {
    auto sections = file.sections();
    if (!sections)
      return sections.takeError();
    for (const auto &section : *sections)
      if ((section.sh_type == ELF::SHT_RELA ||
           section.sh_type == ELF::SHT_REL ||
           section.sh_type == ELF::SHT_RELR) &&
          section.sh_size != 0)
        return internalError("the code has dynamic relocations");
    return Error::success();
  }

private:
  explicit LinkedFile(object::ELFFile<object::ELF64LE> file) : file(file) {}

  Error readSymbols() {
    auto sections = file.sections();
    if (!sections)
      return sections.takeError();
    for (const auto &section : *sections) {
      if (section.sh_type != ELF::SHT_SYMTAB)
        continue;
      auto strings = file.getStringTableForSymtab(section);
      auto symbols = file.symbols(&section);
      if (!strings)
        return joinErrors(strings.takeError(), symbols.takeError());
      if (!symbols)
        return symbols.takeError();
      for (const auto &symbol : *symbols) {
        auto name = symbol.getName(*strings);
        if (!name)
          return name.takeError();
        addresses[*name] = symbol.st_value;
      }
    }
    return Error::success();
  }

  object::ELFFile<object::ELF64LE> file;
  StringMap<uint64_t> addresses;
};

std::string metadataSymbol(size_t program) {
  return "tenon_metadata_" + std::to_string(program);
}

std::string imageSymbol(size_t program, size_t image) {
  return "tenon_image_" + std::to_string(program) + "_" + std::to_string(image);
}

/// Fills in what is only known of the linked file.
class Completion {
public:
  Completion(std::string &bytes, const LinkedFile &linked)
      : bytes(bytes), linked(linked) {}

  /// The code table and the table of images of a program whose metadata are at
  /// `offset` in the file.
  Error complete(size_t program, const Metadata &metadata, uint64_t offset) {
    if (metadata.bytes.size() > bytes.size() - offset)
      return internalError("the linker cut the metadata");
    uint64_t next = offset + metadata.header().code.offset;
    for (const std::string &symbol : metadata.codeSymbols) {
      uint64_t address = linked.address(symbol);
      if (address == 0)
        return internalError("no code was made for the kernel " + symbol);
      put(next, address);
      next += sizeof address;
    }
    for (size_t i = 0; i < metadata.images.size(); ++i) {
      auto place = linked.offset(linked.address(imageSymbol(program, i)));
      if (!place)
        return place.takeError();
      put(offset + metadata.header().images.offset + i * sizeof(tenon_image_t) +
              offsetof(tenon_image_t, offset),
          *place);
    }
    return Error::success();
  }

  void put(uint64_t place, uint64_t value) {
    std::memcpy(bytes.data() + place, &value, sizeof value);
  }

private:
  std::string &bytes;
  const LinkedFile &linked;
};

/// Finds the metadata in the linked file and chains them.
Expected<Image> complete(std::string bytes, ArrayRef<Metadata> metadata) {
  auto linked = LinkedFile::parse(bytes);
  if (!linked)
    return internalError(toString(linked.takeError()));
  if (Error error = linked->checkSelfContained())
    return error;
  Completion completion(bytes, *linked);
  Image image;
  for (size_t i = metadata.size(), next = 0; i-- > 0;) {
    auto offset = linked->offset(linked->address(metadataSymbol(i)));
    if (!offset)
      return offset.takeError();
    if (Error error = completion.complete(i, metadata[i], *offset))
      return error;
    if (next != 0) {
      completion.put(*offset + offsetof(tenon_metadata_t, next_offset), next);
      completion.put(*offset + offsetof(tenon_metadata_t, next_bytes),
                     metadata[i + 1].bytes.size());
    }
    image.metadataOffset = next = *offset;
  }
  image.bytes = std::move(bytes);
  return image;
}

} // namespace

Expected<Image> tenon::buildImage(ArrayRef<LevelCode> levels,
                                  ArrayRef<Metadata> metadata) {
  std::vector<ImageBytes> parts;
  for (size_t i = 0; i < metadata.size(); ++i)
    parts.push_back({metadataSymbol(i), metadata[i].bytes});
  for (size_t i = 0; i < metadata.size(); ++i)
    for (size_t j = 0; j < metadata[i].images.size(); ++j)
      parts.push_back({imageSymbol(i, j), metadata[i].images[j].bytes});
  auto descriptor = compileDescriptor(parts);
  if (!descriptor)
    return descriptor.takeError();
  std::vector<std::unique_ptr<MemoryFile>> files;
  std::vector<std::string> paths;
  auto add = [&](ArrayRef<char> bytes) {
    files.push_back(std::make_unique<MemoryFile>("tenon-object"));
    paths.push_back(files.back()->path());
    return files.back()->write(bytes);
  };
  std::string exports =
      std::string("{ global: ") + kDescriptorSymbol + "; local: *; };\n";
  MemoryFile script("tenon-script");
  bool written = add(*descriptor) && script.write(ArrayRef<char>(exports));
  for (const LevelCode &level : levels)
    written = written && add(level.archive);
  if (!written)
    return noMemory();
  auto linked = link(paths, script.path());
  if (!linked)
    return linked.takeError();
  return complete(std::move(*linked), metadata);
}

Expected<std::string> tenon::joinObjects(ArrayRef<char> archive) {
  MemoryFile file("tenon-archive");
  if (!file.write(archive))
    return noMemory();
  return runLinker({"--relocatable"}, file.path());
}
