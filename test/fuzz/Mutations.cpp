//===- Mutations.cpp - Damaged models never crash the compiler ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Damages models at random places and compiles each: import, simplification,
// folding, regions, lowering; with --codegen object code as well. Children of
// this process do the work, so that a crash costs one model; a signal, more
// than the time or the memory allowed is a failure. Mutation I of a seed is
// always the same: `--seed S --first I --count 1 --keep FILE` repeats one in
// this process and keeps its model.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/Import.h"
#include "compiler/Import/ModelFile.h"
#include "compiler/Import/NodeConverter.h"
#include "compiler/Weights/WeightStore.h"
#ifndef TENON_FUZZ_IMPORT_ONLY
#include "compiler/Pipeline.h"
#include "compiler/Targets/Cpu/Compile.h"
#endif
#include "test/fuzz/Mutator.h"

#include "google/protobuf/stubs/logging.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <chrono>
#include <fstream>
#include <sstream>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace mlir;
using namespace tenon;
using Clock = std::chrono::steady_clock;
namespace cl = llvm::cl;

namespace {

cl::list<std::string> roots(cl::Positional, cl::OneOrMore,
                            cl::desc("folders of folders with model.onnx"));
cl::opt<uint64_t> seed("seed", cl::init(1));
cl::opt<uint64_t> first("first", cl::init(0), cl::desc("first mutation"));
cl::opt<uint64_t> count("count", cl::init(UINT64_MAX));
cl::opt<double> seconds("seconds", cl::init(60), cl::desc("when to stop"));
cl::opt<double> limit("limit", cl::init(30), cl::desc("seconds for one model"));
cl::opt<uint64_t> memory("memory", cl::init(384), cl::desc("MB for a child"));
cl::opt<unsigned> jobs("jobs", cl::init(0), cl::desc("0: one per CPU"));
cl::opt<bool> codegen("codegen", cl::desc("generate object code, too"));
cl::opt<bool> intact("as-they-are", cl::desc("each *.onnx once, undamaged"));
cl::opt<bool> dry("dry", cl::desc("only damage the models"));
cl::opt<std::string> keep("keep", cl::desc("where the last model goes"));

constexpr uint64_t batchSize = 64;
constexpr int unexplained = 3;

struct Model {
  std::string path;
  std::string bytes; // Read at first use.
};

struct Mutation {
  std::string model, what, bytes;
};

bool isModel(const std::string &path) {
  return llvm::sys::path::extension(path) == ".onnx";
}

std::vector<Model> findModels() {
  std::vector<Model> models;
  for (const std::string &root : roots) {
    std::error_code error;
    for (llvm::sys::fs::directory_iterator entry(root, error), end;
         entry != end && !error; entry.increment(error)) {
      std::string path = intact ? entry->path() : entry->path() + "/model.onnx";
      if (isModel(path) && llvm::sys::fs::exists(path))
        models.push_back({path, ""});
    }
  }
  llvm::sort(models, [](auto &a, auto &b) { return a.path < b.path; });
  return models;
}

std::vector<std::string> operatorNames() {
  std::vector<std::string> names;
  for (ArrayRef<OpRow> family : allRows())
    for (const OpRow &row : family)
      names.push_back(row.op.str());
  llvm::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

/// Turns some inputs into constants, with the values of the model's test data:
/// most operators know more about those.
std::string freezeInputs(onnx_full::ModelProto &model, const std::string &path,
                         fuzz::Random &random) {
  std::string done;
  auto folder = llvm::sys::path::parent_path(path).str() + "/test_data_set_0/";
  auto *inputs = model.mutable_graph()->mutable_input();
  for (int i = inputs->size() - 1; i >= 0; --i) {
    onnx_full::TensorProto tensor;
    if (random.below(2) || !tensor.ParseFromString(readFile(
                               folder + "input_" + std::to_string(i) + ".pb")))
      continue;
    tensor.set_name(inputs->Get(i).name());
    *model.mutable_graph()->add_initializer() = tensor;
    inputs->DeleteSubrange(i, 1);
    done += "input " + std::to_string(i) + " constant; ";
  }
  return done;
}

Mutation makeMutation(uint64_t index, std::vector<Model> &models) {
  static const std::vector<std::string> operators = operatorNames();
  fuzz::Random random(seed * 1'000'000'007u + index);
  Model &model = intact ? models[index] : random.pick(models);
  if (model.bytes.empty())
    model.bytes = readFile(model.path);
  Mutation mutation{model.path, "", model.bytes};
  if (intact)
    return mutation;
  if (random.below(8) == 0) {
    mutation.what = fuzz::mutateBytes(mutation.bytes, random);
    return mutation;
  }
  onnx_full::ModelProto proto;
  proto.ParseFromString(model.bytes);
  if (random.below(2))
    mutation.what = freezeInputs(proto, model.path, random);
  mutation.what += fuzz::Mutator(proto, operators, random).mutate();
  proto.SerializePartialToString(&mutation.bytes);
  return mutation;
}

#ifdef TENON_FUZZ_IMPORT_ONLY
/// The sanitizer build looks at the importer alone.
struct Compilation {
  Compilation() : context(MLIRContext::Threading::DISABLED) {}
  MLIRContext context;
  WeightStore weights;
  ImportReport report;
};

bool lower(Compilation &compilation, std::shared_ptr<ModelFile> file) {
  return bool(importModel(&compilation.context, std::move(file),
                          compilation.weights, {}, compilation.report));
}
#else
bool lower(Compilation &compilation, std::shared_ptr<ModelFile> file) {
  compilation.module = importModel(&compilation.context, std::move(file),
                                   compilation.weights, {}, compilation.report);
  if (!compilation.module)
    return false;
  PassManager graphs(&compilation.context);
  buildGraphPipeline(graphs, compilation.weights, {});
  if (failed(graphs.run(*compilation.module)))
    return false;
  PassManager kernels(&compilation.context);
  buildKernelPipeline(kernels, compilation.weights, CompileOptions(),
                      Target::Cpu, compilation.precisions, compilation.probes);
  if (failed(kernels.run(*compilation.module)))
    return false;
  CodeCache cache;
  return !codegen ||
         succeeded(cpu::compileArchives(
             *compilation.module, *cpu::findCpuLevel("x86-64-v3"), cache));
}

#endif

/// Compiles one model; true when nothing in it was refused.
bool compileMutation(const Mutation &mutation) {
  llvm::Expected<std::shared_ptr<Folder>> folder = Folder::of(mutation.model);
  if (!folder) {
    llvm::consumeError(folder.takeError());
    return false;
  }
  auto file = ModelFile::parse(
      ArrayRef(mutation.bytes.data(), mutation.bytes.size()), *folder);
  if (!file) {
    llvm::consumeError(file.takeError());
    return false;
  }
  Compilation compilation;
  bool explained = false;
  ScopedDiagnosticHandler listen(&compilation.context, [&](Diagnostic &error) {
    explained = true;
    if (!keep.empty())
      llvm::errs() << error << '\n';
    return success();
  });
  bool done = lower(compilation, *file);
  if (!keep.empty())
    llvm::errs() << compilation.report.str();
  if (!done && !explained && compilation.report.ok())
    _exit(unexplained);
  return done;
}

/// What a child tells its parent, in shared memory.
struct Progress {
  std::atomic<uint64_t> compiled; // Models that went all the way.
  std::atomic<uint64_t> index;
  std::atomic<int64_t> started; // Nanoseconds of the steady clock.
};

int64_t now() { return Clock::now().time_since_epoch().count(); }

/// One child at a time with its range of mutations.
class Worker {
public:
  explicit Worker(std::vector<Model> &models) : models(models) {
    void *shared = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    progress = new (shared) Progress();
  }

  bool busy() const { return child != 0; }

  void start(uint64_t begin, uint64_t end) {
    this->end = end;
    progress->index = begin;
    progress->started = now();
    child = fork();
    if (child)
      return;
    rlimit bytes = {memory << 20, memory << 20};
    if (memory)
      setrlimit(RLIMIT_DATA, &bytes);
    rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    for (uint64_t i = begin; i < end; ++i) {
      progress->started = now();
      progress->index = i;
      progress->compiled += compileMutation(makeMutation(i, models));
    }
    _exit(0);
  }

  /// Reaps the child when it has ended. True, with the reason in `failure`,
  /// when it did not end well; then `start` again after the culprit.
  void poll(std::string &failure) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == 0) {
      if (double(now() - progress->started) < limit * 1e9)
        return;
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      failure = "took too long";
    } else if (WIFSIGNALED(status)) {
      failure = std::string("died of ") + strsignal(WTERMSIG(status));
    } else if (WEXITSTATUS(status) == unexplained) {
      failure = "refused without a reason";
    } else if (WEXITSTATUS(status)) {
      failure = "exit status " + std::to_string(WEXITSTATUS(status));
    }
    child = 0;
  }

  uint64_t compiled() const { return progress->compiled; }
  uint64_t reached() const { return progress->index; }
  uint64_t endOfBatch() const { return end; }

private:
  std::vector<Model> &models;
  Progress *progress;
  pid_t child = 0;
  uint64_t end = 0;
};

int repeatHere(std::vector<Model> &models) {
  for (uint64_t i = first; i < first + count; ++i) {
    Mutation mutation = makeMutation(i, models);
    llvm::errs() << mutation.model << ": " << mutation.what << '\n';
    std::ofstream(keep, std::ios::binary) << mutation.bytes;
    compileMutation(mutation);
  }
  return 0;
}

class Campaign {
public:
  explicit Campaign(std::vector<Model> &models)
      : models(models), next(first), start(Clock::now()) {}

  int run() {
    unsigned cpus = jobs ? jobs : std::thread::hardware_concurrency();
    std::vector<Worker> workers;
    for (unsigned i = 0; i < std::max(1u, cpus); ++i)
      workers.emplace_back(models);
    bool busy = true;
    while (busy) {
      busy = false;
      for (Worker &worker : workers) {
        attend(worker);
        busy |= worker.busy();
      }
      usleep(2000);
    }
    uint64_t compiled = 0;
    for (Worker &worker : workers)
      compiled += worker.compiled();
    llvm::outs() << next - first << " mutations of " << models.size()
                 << " models, seed " << seed << ": " << compiled
                 << " compiled, " << failures << " failures\n";
    return failures != 0;
  }

private:
  void attend(Worker &worker) {
    if (worker.busy()) {
      std::string failure;
      worker.poll(failure);
      if (worker.busy())
        return;
      if (!failure.empty()) {
        report(worker.reached(), failure);
        if (worker.reached() + 1 < worker.endOfBatch())
          return worker.start(worker.reached() + 1, worker.endOfBatch());
      }
    }
    uint64_t left = count - (next - first);
    std::chrono::duration<double> elapsed = Clock::now() - start;
    if (left == 0 || elapsed.count() > seconds)
      return;
    uint64_t size = std::min(left, batchSize);
    worker.start(next, next + size);
    next += size;
  }

  void report(uint64_t index, const std::string &failure) {
    ++failures;
    Mutation mutation = makeMutation(index, models);
    llvm::outs() << "FAIL --seed " << seed << " --first " << index << ": "
                 << mutation.model << ": " << mutation.what << ": " << failure
                 << '\n';
    llvm::outs().flush();
  }

  std::vector<Model> &models;
  uint64_t next;
  Clock::time_point start;
  unsigned failures = 0;
};

} // namespace

int damageOnly(std::vector<Model> &models) {
  for (uint64_t i = first; i < first + count; ++i)
    makeMutation(i, models);
  return 0;
}

int main(int argc, char **argv) {
  google::protobuf::LogSilencer silencer; // About names that are not UTF-8.
  cl::ParseCommandLineOptions(argc, argv, "Compiles damaged models\n");
  std::vector<Model> models = findModels();
  if (models.empty()) {
    llvm::errs() << "no model.onnx in the folders\n";
    return 2;
  }
  if (intact)
    count = models.size();
  if (dry)
    return damageOnly(models);
  return keep.empty() ? Campaign(models).run() : repeatHere(models);
}
