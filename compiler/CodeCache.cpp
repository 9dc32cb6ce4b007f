//===- CodeCache.cpp - Code of functions that were compiled before --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/CodeCache.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include <link.h>

using namespace llvm;

namespace tenon {
namespace {

/// Of an object that is loaded; empty if its linker gave it none.
StringRef buildId(const dl_phdr_info &object) {
  constexpr StringRef owner("GNU\0", 4);
  for (const ElfW(Phdr) &part : ArrayRef(object.dlpi_phdr, object.dlpi_phnum)) {
    if (part.p_type != PT_NOTE)
      continue;
    size_t alignment = part.p_align == 8 ? 8 : 4; // Others count as none.
    StringRef notes(reinterpret_cast<const char *>(object.dlpi_addr) +
                        part.p_vaddr,
                    part.p_memsz);
    while (notes.size() >= sizeof(ElfW(Nhdr))) {
      auto *note = reinterpret_cast<const ElfW(Nhdr) *>(notes.data());
      notes = notes.drop_front(sizeof *note);
      size_t name = alignTo(note->n_namesz, alignment);
      size_t bytes = alignTo(note->n_descsz, alignment);
      if (note->n_type == NT_GNU_BUILD_ID && notes.starts_with(owner))
        return notes.substr(name, note->n_descsz);
      notes = notes.drop_front(std::min(name + bytes, notes.size()));
    }
  }
  return {};
}

/// The build of this program and of every library that it has loaded; empty
/// where the program cannot be told from other builds of it.
std::string buildOfProcess() {
  std::string build;
  dl_iterate_phdr(
      [](dl_phdr_info *object, size_t, void *into) {
        StringRef id = buildId(*object);
        bool isProgram = object->dlpi_name[0] == '\0';
        if (isProgram && id.empty())
          return 1;
        static_cast<std::string *>(into)->append(id);
        return 0;
      },
      &build);
  return build;
}

/// Files end with a checksum of the code before it.
std::string checksum(StringRef code) {
  std::string bytes(sizeof(uint64_t), '\0');
  support::endian::write64le(bytes.data(), xxh3_64bits(code));
  return bytes;
}

/// What a file keeps; empty if there is none or it is damaged.
std::string readCode(const Twine &path) {
  auto file = MemoryBuffer::getFile(path, /*IsText=*/false,
                                    /*RequiresNullTerminator=*/false);
  if (!file || (*file)->getBufferSize() < sizeof(uint64_t))
    return {};
  StringRef code = (*file)->getBuffer().drop_back(sizeof(uint64_t));
  return (*file)->getBuffer().ends_with(checksum(code)) ? code.str()
                                                        : std::string();
}

/// The file appears with all of its bytes, or not at all. A disk that is full
/// says so when a file is written, but kills who has it mapped.
Error writeCode(StringRef path, StringRef code) {
  auto file = sys::fs::TempFile::create(path + ".%%%%%%%%");
  if (!file)
    return file.takeError();
  raw_fd_ostream stream(file->FD, /*shouldClose=*/false, /*unbuffered=*/true);
  stream << code << checksum(code);
  if (!stream.has_error())
    return file->keep(path);
  Error error = errorCodeToError(stream.error());
  stream.clear_error();
  return joinErrors(std::move(error), file->discard());
}

/// Names that LLVM prunes.
SmallString<128> pathIn(StringRef folder, StringRef name) {
  SmallString<128> path(folder);
  sys::path::append(path, "llvmcache-" + name);
  return path;
}

} // namespace

Expected<std::shared_ptr<CodeCache>> CodeCache::inFolder(StringRef folder) {
  auto cache = std::make_shared<CodeCache>();
  cache->folder = folder.str();
  cache->build = buildOfProcess();
  if (cache->build.empty())
    return createStringError("this program was linked without a build id, so "
                             "code of other builds would count as its own; "
                             "link it with --build-id");
  if (std::error_code error = sys::fs::create_directories(folder))
    return createStringError("code cannot be kept in '" + folder +
                             "': " + error.message());
  if (Error error = writeCode(pathIn(folder, "probe"), ""))
    return createStringError("code cannot be kept in '" + folder +
                             "': " + toString(std::move(error)));
  CachePruningPolicy policy;
  policy.MaxSizeBytes = uint64_t(1) << 30;
  pruneCache(folder, policy);
  return cache;
}

CodeCache::Code CodeCache::get(StringRef source,
                               std::function<std::string()> compile) {
  SHA256 hash;
  hash.update(build);
  hash.update(source);
  std::string key = toHex(hash.final(), /*LowerCase=*/true);
  std::lock_guard<std::mutex> lock(mutex);
  Code &code = codes[key];
  if (code.valid())
    return code;
  code = workers.async([this, key, compile = std::move(compile)] {
    if (folder.empty())
      return compile();
    SmallString<128> path = pathIn(folder, key);
    std::string made = readCode(path);
    if (!made.empty())
      return made;
    made = compile();
    // Where it cannot be kept, the next one compiles it again.
    if (!made.empty())
      consumeError(writeCode(path, made));
    return made;
  });
  return code;
}

} // namespace tenon
