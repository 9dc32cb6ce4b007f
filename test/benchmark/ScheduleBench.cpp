//===- ScheduleBench.cpp - The chosen schedule against the others ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bench_schedules [THREADS]: for each of a list of operations, by which
// schedule it runs, and what it takes by that one and by each other that
// applies. Runs are taken in turn; a time is the best of them. Exits 1 where
// another one is faster by a tenth or more.
//
//===----------------------------------------------------------------------===//

#include "compiler/Pipeline.h"
#include "onnx-ml.pb.h"
#include "runtime/tenon.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include <chrono>
#include <fstream>

using namespace tenon;

namespace {

using Dims = std::vector<int64_t>;

/// One node, whose first input is the model's; `weight` says whether the second
/// one is a weight or another input.
struct Case {
  const char *name, *type;
  Dims lhs, rhs;
  bool weight = true;
  int64_t group = 1, pads = 0, strides = 1; // Of convolutions.
};

const Case cases[] = {
    {"one row", "MatMul", {1, 768}, {768, 3072}},
    {"8 rows", "MatMul", {8, 768}, {768, 768}},
    {"128 rows", "MatMul", {128, 768}, {768, 3072}},
    {"33 rows, few columns", "MatMul", {33, 64}, {64, 10}},
    {"scores", "MatMul", {12, 128, 64}, {12, 64, 128}, false},
    {"many small products", "MatMul", {512, 7, 8}, {512, 8, 9}, false},
    {"two large inputs", "MatMul", {512, 512}, {512, 512}, false},
    {"7x7, 3 channels", "Conv", {1, 3, 112, 112}, {64, 3, 7, 7}, true, 1, 3, 2},
    {"3x3, 64", "Conv", {1, 64, 56, 56}, {64, 64, 3, 3}, true, 1, 1},
    {"3x3, 512, 7x7 pixels",
     "Conv",
     {1, 512, 7, 7},
     {512, 512, 3, 3},
     true,
     1,
     1},
    {"1x1, 256 to 64", "Conv", {1, 256, 56, 56}, {64, 256, 1, 1}},
    {"depthwise 7x7", "Conv", {1, 96, 56, 56}, {96, 1, 7, 7}, true, 96, 3},
    {"softmax of 128", "Softmax", {12, 128, 128}, {}},
    {"softmax of 5", "Softmax", {4096, 5}, {}},
    {"sums of 768", "ReduceSum", {512, 768}, {}},
};

void addValue(onnx::ValueInfoProto *value, const char *name, const Dims *dims) {
  value->set_name(name);
  auto *type = value->mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnx::TensorProto::FLOAT);
  for (size_t i = 0; dims && i < dims->size(); ++i)
    type->mutable_shape()->add_dim()->set_dim_value((*dims)[i]);
}

int64_t countOf(const Dims &dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  return count;
}

void addIntegers(onnx::NodeProto *node, const char *name, const Dims &values) {
  onnx::AttributeProto *attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INTS);
  for (int64_t value : values)
    attribute->add_ints(value);
}

onnx::ModelProto makeModel(const Case &test) {
  onnx::ModelProto model;
  model.set_ir_version(10);
  model.add_opset_import()->set_version(20);
  onnx::GraphProto *graph = model.mutable_graph();
  graph->set_name("one node");
  addValue(graph->add_input(), "x", &test.lhs);
  addValue(graph->add_output(), "y", nullptr);
  onnx::NodeProto *node = graph->add_node();
  node->set_op_type(test.type);
  node->add_input("x");
  node->add_output("y");
  if (!test.rhs.empty())
    node->add_input("w");
  if (!test.rhs.empty() && !test.weight)
    addValue(graph->add_input(), "w", &test.rhs);
  if (!test.rhs.empty() && test.weight) {
    onnx::TensorProto *weight = graph->add_initializer();
    weight->set_name("w");
    weight->set_data_type(onnx::TensorProto::FLOAT);
    for (int64_t dim : test.rhs)
      weight->add_dims(dim);
    std::vector<float> values(countOf(test.rhs));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = float(i * 7919 % 1024) / 8192 - 0.0625f;
    weight->set_raw_data(values.data(), values.size() * sizeof(float));
  }
  if (llvm::StringRef(test.type) == "Conv") {
    onnx::AttributeProto *group = node->add_attribute();
    group->set_name("group");
    group->set_type(onnx::AttributeProto::INT);
    group->set_i(test.group);
    addIntegers(node, "pads", Dims(4, test.pads));
    addIntegers(node, "strides", Dims(2, test.strides));
  }
  return model;
}

/// A model compiled without some of the schedules, ready to run.
class Candidate {
public:
  Candidate(const Case &test, const std::vector<std::string> &without,
            int threads);
  ~Candidate() {
    tenon_session_destroy(session);
    tenon_model_release(model);
  }
  Candidate(const Candidate &) = delete;
  Candidate &operator=(const Candidate &) = delete;

  bool isReady() const { return session; }
  /// Of the kernel whose schedule is not the generic one, if there is one.
  std::string schedule = "Generic";
  double best = 1e30; // Seconds.

  bool run();

private:
  tenon_model_t *model = nullptr;
  tenon_session_t *session = nullptr;
  std::vector<std::vector<float>> data;
  std::vector<tenon_tensor_t> inputs;
};

Candidate::Candidate(const Case &test, const std::vector<std::string> &without,
                     int threads) {
  llvm::SmallString<128> folder;
  if (llvm::sys::fs::createUniqueDirectory("bench_schedules", folder))
    return;
  std::string path = (folder + "/model.onnx").str();
  std::string artifact = (folder + "/model.tenon").str();
  {
    std::ofstream file(path, std::ios::binary);
    makeModel(test).SerializeToOstream(&file);
  }
  Compilation compilation;
  CompileOptions options;
  options.levels = {"native"};
  options.without = without;
  std::string text;
  if (!compileModel(compilation, path, options, artifact, text))
    llvm::errs() << llvm::join(compilation.errors, "\n") << '\n';
  else if (tenon_model_load(artifact.c_str(), nullptr, &model) != TENON_OK)
    llvm::errs() << tenon_last_error() << '\n';
  llvm::sys::fs::remove_directories(folder);
  tenon_session_options_t session_options = {sizeof(session_options)};
  session_options.threads = threads;
  if (!model ||
      tenon_session_create(model, &session_options, &session) != TENON_OK)
    return;
  tenon_kernel_info_t info = {sizeof(info)};
  for (uint32_t i = 0; tenon_model_kernel(model, i, &info) == TENON_OK; ++i)
    if (info.launch_count && llvm::StringRef(info.schedule) != "Generic")
      schedule = info.schedule;
  for (const Dims *dims : {&test.lhs, &test.rhs}) {
    if (dims->empty() || (dims == &test.rhs && test.weight))
      continue;
    data.emplace_back(countOf(*dims), 0.5f);
    tenon_tensor_t tensor = {sizeof(tensor)};
    tensor.dtype = TENON_F32;
    tensor.rank = uint32_t(dims->size());
    llvm::copy(*dims, tensor.dims);
    tensor.data = data.back().data();
    tensor.bytes = data.back().size() * sizeof(float);
    inputs.push_back(tensor);
  }
}

bool Candidate::run() {
  tenon_tensor_t output = {sizeof(output)};
  auto start = std::chrono::steady_clock::now();
  if (tenon_session_run(session, inputs.data(), uint32_t(inputs.size()),
                        &output, 1) != TENON_OK) {
    llvm::errs() << tenon_last_error() << '\n';
    return false;
  }
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  best = std::min(best, seconds.count());
  return true;
}

/// The chosen schedule, then what is chosen without it, and so on.
std::vector<std::unique_ptr<Candidate>> candidatesOf(const Case &test,
                                                     int threads) {
  std::vector<std::unique_ptr<Candidate>> all;
  std::vector<std::string> without;
  do {
    all.push_back(std::make_unique<Candidate>(test, without, threads));
    if (!all.back()->isReady())
      return {};
    without.push_back(all.back()->schedule);
  } while (without.back() != "Generic");
  return all;
}

enum class Outcome { Best, Slower, Failed };

Outcome measure(const Case &test, int threads) {
  constexpr double enough = 1; // Seconds for each operation.
  auto candidates = candidatesOf(test, threads);
  if (candidates.empty())
    return Outcome::Failed;
  auto start = std::chrono::steady_clock::now();
  auto taken = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start)
        .count();
  };
  for (int round = 0; round < 3 || taken() < enough; ++round)
    for (auto &candidate : candidates)
      for (int again = 0; again < 3; ++again) // Caches of its own.
        if (!candidate->run())
          return Outcome::Failed;
  const Candidate &chosen = *candidates.front();
  auto best = llvm::min_element(
      candidates, [](auto &a, auto &b) { return a->best < b->best; });
  bool isBest = chosen.best <= (*best)->best * 1.1;
  llvm::outs() << llvm::format("%-8s %-22s", test.type, test.name);
  for (auto &candidate : candidates)
    llvm::outs() << (candidate == *best ? " *" : "  ") << candidate->schedule
                 << llvm::format(" %.1f us", candidate->best * 1e6);
  llvm::outs() << (isBest ? "\n" : "  NOT THE BEST\n");
  llvm::outs().flush();
  return isBest ? Outcome::Best : Outcome::Slower;
}

} // namespace

int main(int argc, char **argv) {
  int threads = argc > 1 ? atoi(argv[1]) : 0;
  bool isGood = true;
  llvm::outs() << "The first schedule is the chosen one, * the fastest.\n";
  for (const Case &test : cases) {
    Outcome outcome = measure(test, threads);
    isGood &= outcome == Outcome::Best;
    if (outcome == Outcome::Failed)
      llvm::errs() << test.name << ": failed\n";
  }
  return isGood ? 0 : 1;
}
