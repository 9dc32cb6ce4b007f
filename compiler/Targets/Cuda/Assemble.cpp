//===- Assemble.cpp - PTX becomes machine code of chosen devices ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cuda/Assemble.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>

namespace tenon::cuda {
namespace {

using llvm::StringRef;

/// A folder that goes when its owner does.
class ScratchFolder {
public:
  ScratchFolder() {
    if (llvm::sys::fs::createUniqueDirectory("tenon-ptxas", path))
      path.clear();
  }
  ~ScratchFolder() {
    if (!path.empty())
      llvm::sys::fs::remove_directories(path);
  }
  explicit operator bool() const { return !path.empty(); }
  std::string file(StringRef name) const {
    llvm::SmallString<128> full(path);
    llvm::sys::path::append(full, name);
    return full.str().str();
  }

private:
  llvm::SmallString<128> path;
};

/// One run of ptxas: where it writes, then what it wrote.
struct Assembly {
  unsigned sm;
  std::string cubin, log;
  llvm::sys::ProcessInfo process;
};

std::string contentsOf(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

llvm::Error refusal(unsigned sm, StringRef reason) {
  constexpr size_t most = 2000; // Of what may be a line for each kernel.
  return llvm::createStringError("ptxas cannot assemble the kernels for sm_" +
                                 llvm::Twine(sm) + ": " +
                                 reason.trim().take_front(most));
}

llvm::Error write(StringRef text, const std::string &path) {
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error);
  stream << text;
  stream.close();
  if (!error && !stream.has_error())
    return llvm::Error::success();
  stream.clear_error();
  return llvm::createStringError("cannot write " + path);
}

Assembly start(const std::string &ptxas, const ScratchFolder &folder,
               const AssemblySource &text, std::string &error) {
  std::string number = std::to_string(text.sm),
              source = folder.file(number + ".ptx");
  Assembly run = {text.sm,
                  folder.file(number + ".cubin"),
                  folder.file(number + ".log"),
                  {}};
  std::string arch = "-arch=sm_" + number,
              level = "-O" + std::to_string(text.optimization);
  StringRef arguments[] = {ptxas, arch, level, "-v", "-o", run.cubin, source};
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(run.log),
                                          StringRef(run.log)};
  run.process = llvm::sys::ExecuteNoWait(ptxas, arguments, std::nullopt,
                                         redirects, /*MemoryLimit=*/0, &error);
  return run;
}

} // namespace

std::string findPtxas() {
  if (auto found = llvm::sys::findProgramByName("ptxas"))
    return *found;
  if (auto found =
          llvm::sys::findProgramByName("ptxas", {"/usr/local/cuda/bin"}))
    return *found;
  return {};
}

/// Runs ptxas for each of `sources`, all at once, and gives what they wrote.
static llvm::Expected<std::vector<Assembly>>
assemble(llvm::ArrayRef<AssemblySource> sources) {
  std::string ptxas = findPtxas();
  if (ptxas.empty())
    return llvm::createStringError(
        "ptxas is neither on PATH nor in /usr/local/cuda/bin; install the CUDA "
        "toolkit, or leave the machine code to the driver");
  ScratchFolder folder;
  if (!folder)
    return llvm::createStringError("cannot make a folder for ptxas to work in");
  for (const AssemblySource &source : sources)
    if (llvm::Error error =
            write(source.ptx, folder.file(std::to_string(source.sm) + ".ptx")))
      return std::move(error);
  // They share nothing. Each is waited for, also after an error.
  std::vector<Assembly> runs;
  std::string notStarted;
  for (const AssemblySource &source : sources)
    runs.push_back(start(ptxas, folder, source, notStarted));
  llvm::Error failures = llvm::Error::success();
  for (Assembly &run : runs) {
    int status = -1;
    std::string reason = notStarted;
    if (run.process.Pid != llvm::sys::ProcessInfo::InvalidPid)
      status = llvm::sys::Wait(run.process, std::nullopt, &reason).ReturnCode;
    run.cubin = contentsOf(run.cubin);
    run.log = contentsOf(run.log);
    if (status != 0 || run.cubin.empty())
      failures = llvm::joinErrors(std::move(failures),
                                  refusal(run.sm, reason + run.log));
  }
  if (failures)
    return std::move(failures);
  return runs;
}

llvm::Expected<std::vector<std::string>>
assembleCubins(llvm::ArrayRef<AssemblySource> sources) {
  auto runs = assemble(sources);
  if (!runs)
    return runs.takeError();
  std::vector<std::string> cubins;
  for (Assembly &run : *runs)
    cubins.push_back(std::move(run.cubin));
  return cubins;
}

llvm::Expected<llvm::StringMap<KernelResources>> resourcesOf(StringRef ptx,
                                                             unsigned sm) {
  auto runs = assemble(AssemblySource{sm, ptx});
  if (!runs)
    return runs.takeError();
  return parseResources(runs->front().log);
}

/// The number in front of `word`; 0 when there is none.
static unsigned numberBefore(StringRef line, StringRef word) {
  size_t end = line.find(word);
  if (end == StringRef::npos)
    return 0;
  StringRef text = line.take_front(end).rtrim();
  unsigned number = 0;
  text.substr(text.find_last_not_of("0123456789") + 1).getAsInteger(10, number);
  return number;
}

llvm::StringMap<KernelResources> parseResources(StringRef log) {
  llvm::StringMap<KernelResources> found;
  KernelResources *current = nullptr;
  while (!log.empty()) {
    auto [line, rest] = log.split('\n');
    log = rest;
    constexpr StringRef entry = "entry function '";
    if (size_t at = line.find(entry); at != StringRef::npos) {
      current = &found[line.substr(at + entry.size()).take_until([](char c) {
        return c == '\'';
      })];
      continue;
    }
    if (!current)
      continue;
    current->spillBytes += numberBefore(line, "bytes spill stores");
    if (line.contains("registers")) {
      current->registers = numberBefore(line, "registers");
      current->sharedBytes = numberBefore(line, "bytes smem");
    }
  }
  return found;
}

} // namespace tenon::cuda
