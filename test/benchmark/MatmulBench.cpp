//===- MatmulBench.cpp - Packed matmuls against a bare FMA loop -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each benchmark is an ONNX model of one matrix product [M, K] x [K, N] with a
// constant right side, compiled for this machine and run by the runtime. Its
// best run is compared with the best of a loop of multiply-adds measured in
// between: column `percent`. The figure to reach is 90 for M >= 128. Column
// `of_tiles` compares it with the same product by hand, over operands that were
// packed before: what the caches of this machine let through at that minute.
//
//===----------------------------------------------------------------------===//

#include "compiler/Pipeline.h"
#include "onnx-ml.pb.h"
#include "runtime/tenon.h"
#include "test/benchmark/TileLoop.h"
#include "tools/limits/FmaLoop.h"
#include "llvm/Support/FileSystem.h"
#include <benchmark/benchmark.h>
#include <chrono>
#include <fstream>
#include <optional>
#include <random>

namespace tenon::bench {
namespace {

struct Product {
  int64_t rows, columns, depth;
};

void setDims(onnx::ValueInfoProto *value, const char *name, int64_t columns) {
  value->set_name(name);
  auto *type = value->mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnx::TensorProto::FLOAT);
  type->mutable_shape()->add_dim()->set_dim_param("rows");
  type->mutable_shape()->add_dim()->set_dim_value(columns);
}

/// y = Gelu(x * w + b) when `gelu`, else y = x * w.
onnx::ModelProto makeModel(const Product &product, bool gelu) {
  onnx::ModelProto model;
  model.set_ir_version(10);
  model.add_opset_import()->set_version(20);
  onnx::GraphProto *graph = model.mutable_graph();
  graph->set_name("matmul");
  setDims(graph->add_input(), "x", product.depth);
  setDims(graph->add_output(), "y", product.columns);
  std::minstd_rand random;
  auto addWeight = [&](const char *name, std::vector<int64_t> dims) {
    onnx::TensorProto *weight = graph->add_initializer();
    weight->set_name(name);
    weight->set_data_type(onnx::TensorProto::FLOAT);
    int64_t count = 1;
    for (int64_t dim : dims) {
      weight->add_dims(dim);
      count *= dim;
    }
    std::string bytes(count * sizeof(float), 0);
    for (int64_t i = 0; i < count; ++i)
      reinterpret_cast<float *>(bytes.data())[i] =
          float(random() % 1024) / 8192 - 0.0625f;
    weight->set_raw_data(std::move(bytes));
  };
  auto addNode = [&](const char *type, std::vector<const char *> inputs,
                     const char *output) {
    onnx::NodeProto *node = graph->add_node();
    node->set_op_type(type);
    for (const char *input : inputs)
      node->add_input(input);
    node->add_output(output);
  };
  addWeight("w", {product.depth, product.columns});
  addNode("MatMul", {"x", "w"}, gelu ? "product" : "y");
  if (gelu) {
    addWeight("b", {product.columns});
    addNode("Add", {"product", "b"}, "sum");
    addNode("Gelu", {"sum"}, "y");
  }
  return model;
}

/// Compiles and loads; null, with a message, when that fails.
tenon_model_t *load(const Product &product, bool gelu) {
  llvm::SmallString<128> folder;
  if (llvm::sys::fs::createUniqueDirectory("bench_matmul", folder))
    return nullptr;
  std::string path = (folder + "/model.onnx").str();
  std::string artifact = (folder + "/model.tenon").str();
  {
    std::ofstream file(path, std::ios::binary);
    makeModel(product, gelu).SerializeToOstream(&file);
  }
  Compilation compilation;
  CompileOptions options;
  options.levels = {"native"};
  std::string text;
  tenon_model_t *model = nullptr;
  if (!compileModel(compilation, path, options, artifact, text))
    for (const std::string &error : compilation.errors)
      llvm::errs() << error << "\n";
  else if (tenon_model_load(artifact.c_str(), nullptr, &model) != TENON_OK)
    llvm::errs() << tenon_last_error() << "\n";
  llvm::sys::fs::remove_directories(folder);
  return model;
}

double secondsNow() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void runProduct(benchmark::State &state, Product product, bool gelu,
                int threads) {
  tenon_model_t *model = load(product, gelu);
  if (!model)
    return state.SkipWithError("the model did not compile or load");
  tenon_session_options_t options = {sizeof(options)};
  options.threads = threads;
  tenon_session_t *session = nullptr;
  if (tenon_session_create(model, &options, &session) != TENON_OK)
    return state.SkipWithError(tenon_last_error());
  std::vector<float> x(product.rows * product.depth, 0.5f);
  tenon_tensor_t input = {sizeof(input)}, output = {sizeof(output)};
  input.dtype = TENON_F32;
  input.rank = 2;
  input.dims[0] = product.rows;
  input.dims[1] = product.depth;
  input.data = x.data();
  input.bytes = x.size() * sizeof(float);

  std::optional<TileLoop> tiles;
  if (TileLoop::canRun() && product.rows >= 128)
    tiles.emplace(product.rows, product.columns, product.depth, threads);
  double best = 1e30, loop = 0, nextLoop = 0, bestTiles = 0;
  for (auto _ : state) {
    double start = secondsNow();
    tenon_status_t status = tenon_session_run(session, &input, 1, &output, 1);
    double seconds = secondsNow() - start;
    if (status != TENON_OK) {
      state.SkipWithError(tenon_last_error());
      break;
    }
    state.SetIterationTime(seconds);
    best = std::min(best, seconds);
    if (start >= nextLoop) {
      loop = std::max(loop, limits::fmaLoopSpeed(threads));
      if (tiles)
        bestTiles = std::max(bestTiles, tiles->speed());
      nextLoop = secondsNow() + 0.1;
    }
  }
  double speed = 2.0 * product.rows * product.columns * product.depth / best;
  state.counters["Gflops"] = speed / 1e9;
  state.counters["FMA_loop"] = loop / 1e9;
  state.counters["percent"] = 100 * speed / loop;
  if (tiles)
    state.counters["of_tiles"] = 100 * speed / bestTiles;
  tenon_session_destroy(session);
  tenon_model_release(model);
}

void registerAll() {
  constexpr Product products[] = {
      {128, 768, 768}, {128, 3072, 768}, {128, 768, 3072}, {512, 1024, 1024},
      {8, 768, 768},   {1, 768, 768},    {1, 3072, 768}};
  for (const Product &product : products)
    for (bool gelu : {false, true})
      for (int threads : {1, 2}) {
        std::string name = std::to_string(product.rows) + "x" +
                           std::to_string(product.columns) + "x" +
                           std::to_string(product.depth) +
                           (gelu ? "/gelu" : "") +
                           "/threads:" + std::to_string(threads);
        benchmark::RegisterBenchmark(name.c_str(), runProduct, product, gelu,
                                     threads)
            ->UseManualTime()
            ->Unit(benchmark::kMicrosecond)
            ->MinTime(1.5);
      }
}

} // namespace
} // namespace tenon::bench

int main(int argc, char **argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 1;
  tenon::bench::registerAll();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
