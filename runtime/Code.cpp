//===- Code.cpp - The machine code of an artifact, in memory --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Code.h"
#include "runtime/Error.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

using namespace tenon::runtime;

namespace {
constexpr uint64_t pageBytes = 4096;
constexpr uint64_t maxSpanBytes = uint64_t(4) << 30;

uint64_t pageDown(uint64_t value) { return value & ~(pageBytes - 1); }
uint64_t pageUp(uint64_t value) { return pageDown(value + pageBytes - 1); }

const char *checkHeader(const Elf64_Ehdr &header, uint64_t imageBytes) {
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_DYN ||
      header.e_machine != EM_X86_64)
    return "its code is no x86-64 ELF shared object";
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phoff > imageBytes ||
      header.e_phnum * sizeof(Elf64_Phdr) > imageBytes - header.e_phoff)
    return "its program headers lie outside the image";
  return nullptr;
}

/// Code that would need a dynamic linker is refused: there is none here.
const char *checkDynamic(const char *entries, uint64_t bytes) {
  for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= bytes;
       at += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry;
    memcpy(&entry, entries + at, sizeof entry);
    switch (entry.d_tag) {
    case DT_NULL:
      return nullptr;
    case DT_RELASZ:
    case DT_RELSZ:
    case DT_PLTRELSZ:
    case 35: // DT_RELRSZ
      if (entry.d_un.d_val != 0)
        return "its code has dynamic relocations";
      break;
    case DT_NEEDED:
      return "its code needs another library";
    }
  }
  return nullptr;
}
} // namespace

Code::~Code() {
  if (span)
    munmap(span, spanBytes);
}

const char *Code::addSegment(const void *source, uint64_t imageBytes) {
  Elf64_Phdr header;
  memcpy(&header, source, sizeof header);
  if (header.p_memsz == 0)
    return nullptr;
  if (segmentCount == maxSegments)
    return "it has over 16 segments";
  if (header.p_filesz > header.p_memsz || header.p_offset > imageBytes ||
      header.p_filesz > imageBytes - header.p_offset)
    return "a segment lies outside the image";
  if (header.p_memsz > maxSpanBytes || header.p_vaddr > maxSpanBytes)
    return "a segment is too large";
  if ((header.p_flags & PF_W) && (header.p_flags & PF_X))
    return "a segment is both writable and executable";
  if (segmentCount) {
    const Segment &last = segments[segmentCount - 1];
    if (pageDown(header.p_vaddr) < pageUp(last.address + last.bytes))
      return "its segments share a page or are out of order";
  }
  int protection = (header.p_flags & PF_R ? PROT_READ : 0) |
                   (header.p_flags & PF_W ? PROT_WRITE : 0) |
                   (header.p_flags & PF_X ? PROT_EXEC : 0);
  segments[segmentCount++] = {header.p_vaddr, header.p_memsz, header.p_offset,
                              header.p_filesz, protection};
  return nullptr;
}

const char *Code::parse(const char *image, uint64_t bytes) {
  Elf64_Ehdr header;
  if (bytes < sizeof header)
    return "its code is no x86-64 ELF shared object";
  memcpy(&header, image, sizeof header);
  if (const char *reason = checkHeader(header, bytes))
    return reason;
  for (uint32_t i = 0; i < header.e_phnum; ++i) {
    const char *source = image + header.e_phoff + i * sizeof(Elf64_Phdr);
    Elf64_Phdr program;
    memcpy(&program, source, sizeof program);
    const char *reason = nullptr;
    if (program.p_type == PT_LOAD) {
      reason = addSegment(source, bytes);
    } else if (program.p_type == PT_TLS) {
      reason = "its code has thread-local variables";
    } else if (program.p_type == PT_DYNAMIC) {
      if (program.p_offset > bytes ||
          program.p_filesz > bytes - program.p_offset)
        reason = "its dynamic section lies outside the image";
      else
        reason = checkDynamic(image + program.p_offset, program.p_filesz);
    }
    if (reason)
      return reason;
  }
  if (segmentCount == 0)
    return "it has no segments";
  const Segment &last = segments[segmentCount - 1];
  firstAddress = pageDown(segments[0].address);
  spanBytes = pageUp(last.address + last.bytes) - firstAddress;
  return nullptr;
}

tenon_status_t Code::load(const char *image, uint64_t bytes, const char *path) {
  if (const char *reason = parse(image, bytes))
    return fail(TENON_BAD_FORMAT, "%.300s: damaged: %s", path, reason);
  void *mapped = mmap(nullptr, spanBytes, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED)
    return fail(TENON_OUT_OF_MEMORY, "%.300s: no memory for its code: %s", path,
                strerror(errno));
  span = static_cast<char *>(mapped);
  for (uint32_t i = 0; i < segmentCount; ++i) {
    const Segment &segment = segments[i];
    char *page = span + (pageDown(segment.address) - firstAddress);
    uint64_t length =
        pageUp(segment.address + segment.bytes) - pageDown(segment.address);
    bool ok = mprotect(page, length, PROT_READ | PROT_WRITE) == 0;
    if (ok) {
      memcpy(span + (segment.address - firstAddress),
             image + segment.fileOffset, segment.fileBytes);
      ok = mprotect(page, length, segment.protection) == 0;
    }
    if (!ok)
      return fail(TENON_IO_ERROR, "%.300s: cannot map its code: %s", path,
                  strerror(errno));
  }
  return TENON_OK;
}

const void *Code::find(uint64_t address) const {
  for (uint32_t i = 0; i < segmentCount; ++i)
    if ((segments[i].protection & PROT_EXEC) &&
        address >= segments[i].address &&
        address - segments[i].address < segments[i].fileBytes)
      return span + (address - firstAddress);
  return nullptr;
}
