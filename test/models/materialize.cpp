//===- materialize.cpp - Write the weights of test models back ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   materialize SOURCE DESTINATION
//
// Copies the model folder SOURCE, or every model folder in it, and writes each
// weights.bin from the seeds in its fill.json:
//
//   value[i] = mean + std * sqrt(12) * (u[i] - 1/2)
//   u[i] = (splitmix64(seed * 2^32 + i) >> 40) / 2^24
//
// in double, rounded once to float, at the recorded byte offset.
//
//===----------------------------------------------------------------------===//

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

// Contraction would round the sum once where the recipe rounds twice.
#pragma STDC FP_CONTRACT OFF

namespace fs = std::filesystem;
using Json = nlohmann::json;

static uint64_t splitmix64(uint64_t x) {
  uint64_t z = x + 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

static std::vector<float> sample(const Json &fill) {
  uint64_t size = 1;
  for (uint64_t dim : fill["shape"])
    size *= dim;
  uint64_t first = fill["seed"].get<uint64_t>() << 32;
  double mean = fill["mean"];
  double scale = fill["std"].get<double>() * std::sqrt(12.0);

  std::vector<float> values(size);
  for (uint64_t i = 0; i < size; ++i) {
    double unit = double(splitmix64(first + i) >> 40) * 0x1p-24;
    values[i] = float(mean + scale * (unit - 0.5));
  }
  return values;
}

static bool writeWeights(const fs::path &folder) {
  std::ifstream in(folder / "fill.json");
  Json recipe = Json::parse(in, nullptr, /*allow_exceptions=*/false);
  if (recipe.is_discarded())
    return false;
  fs::path path = folder / "weights.bin";
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  for (const Json &fill : recipe["fills"]) {
    std::vector<float> values = sample(fill);
    out.seekp(fill["offset"].get<int64_t>());
    out.write(reinterpret_cast<const char *>(values.data()),
              std::streamsize(values.size() * sizeof(float)));
  }
  out.close();
  std::error_code error;
  fs::resize_file(path, recipe["bytes"].get<uint64_t>(), error);
  return bool(out) && !error;
}

static bool materialize(const fs::path &source, const fs::path &destination) {
  std::error_code error;
  fs::create_directories(destination, error);
  fs::copy(source, destination,
           fs::copy_options::recursive | fs::copy_options::overwrite_existing,
           error);
  if (!error && writeWeights(destination))
    return true;
  std::fprintf(stderr, "materialize: cannot write %s\n", destination.c_str());
  return false;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: materialize SOURCE DESTINATION\n");
    return 2;
  }
  fs::path source = argv[1], destination = argv[2];
  if (fs::exists(source / "fill.json"))
    return !materialize(source, destination);

  int written = 0;
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(source, error)) {
    if (!fs::exists(entry.path() / "fill.json"))
      continue;
    if (!materialize(entry.path(), destination / entry.path().filename()))
      return 1;
    ++written;
  }
  std::printf("%d models written to %s\n", written, destination.c_str());
  return written == 0;
}
