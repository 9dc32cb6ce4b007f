//===- Caches.cpp - Caches that grow where they lie -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// model_caches MODEL..: each model is run on its data sets with dense tensors,
// then with caches in buffers that have room for more rows: one for a cache and
// what becomes of it, and one for each. All outputs must have the same bits,
// what lies behind the rows must stay as it was, and where the two share memory
// so must the old rows. Every model must have a cache that grows. All that also
// with caches that are kept in fewer bits.
//
//===----------------------------------------------------------------------===//

#include "compiler/Pipeline.h"
#include "tools/tenon/DataSet.h"
#include "tools/tenon/InPlaceRun.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace tenon;

namespace {

constexpr unsigned char untouched = 0xa5;
constexpr size_t alignment = 64;

int fail(const llvm::Twine &reason) {
  llvm::errs() << "model_caches: " << reason << '\n';
  return 1;
}

/// Memory for a tensor with room for `capacity` along an axis.
struct Roomy {
  std::unique_ptr<char, decltype(&free)> memory{nullptr, free};
  size_t bytes = 0, block = 0; // Of all; of what lies from the axis on.

  Roomy(const tenon_tensor_t &like, size_t axis, int64_t capacity) {
    tenon_tensor_t stored = like;
    stored.dims[axis] = capacity;
    bytes = bytesFrom(stored, 0);
    block = bytesFrom(stored, axis);
    memory.reset(static_cast<char *>(
        aligned_alloc(alignment, (bytes / alignment + 1) * alignment)));
    memset(memory.get(), untouched, bytes);
  }
  void give(tenon_tensor_t &tensor, int64_t capacity) {
    tensor.data = memory.get();
    tensor.bytes = bytes;
    tensor.capacity = capacity;
  }
  void fill(const tenon_tensor_t &dense, size_t axis) {
    size_t own = bytesFrom(dense, axis);
    for (size_t i = 0; own != 0 && i < dense.bytes / own; ++i)
      memcpy(memory.get() + i * block,
             static_cast<const char *>(dense.data) + i * own, own);
  }
  /// Whether it holds the dense tensor, and nothing was written behind that.
  bool holds(const tenon_tensor_t &dense, size_t axis) const {
    size_t own = bytesFrom(dense, axis);
    for (size_t i = 0; block != 0 && i < bytes / block; ++i) {
      const char *at = memory.get() + i * block;
      if (memcmp(at, static_cast<const char *>(dense.data) + i * own, own))
        return false;
      for (size_t j = own; j < block; ++j)
        if (static_cast<unsigned char>(at[j]) != untouched)
          return false;
    }
    return true;
  }
};

class Test {
public:
  Test(Session &session, const std::vector<Tensor> &inputs)
      : session(session), inputs(inputs) {}

  /// The reason of a failure, or empty.
  std::string run() {
    std::vector<tenon_tensor_t> results;
    if (llvm::Error error = session.run(inputs, results))
      return llvm::toString(std::move(error));
    // They are in the session's memory.
    for (const tenon_tensor_t &result : results) {
      const char *data = static_cast<const char *>(result.data);
      copies.emplace_back(data, data + result.bytes);
      dense.push_back(result);
      dense.back().data = copies.back().data();
    }
    for (int64_t more : {0, 1, 7})
      for (bool shared : {true, false})
        if (std::string why = runWithRoom(more, shared); !why.empty())
          return why + (shared ? " (one buffer, " : " (two buffers, ") +
                 std::to_string(more) + " rows more)";
    return caches == 0 ? "it has no cache that grows" : refusals();
  }

private:
  tenon_value_info_t infoOf(uint32_t output) {
    tenon_value_info_t info = {};
    info.struct_size = sizeof info;
    tenon_model_output(session.model(), output, &info);
    return info;
  }

  std::string runWithRoom(int64_t more, bool shared) {
    std::vector<tenon_tensor_t> arguments = Session::arguments(inputs);
    std::vector<tenon_tensor_t> results(dense.size());
    std::vector<std::unique_ptr<Roomy>> buffers, grown(dense.size());
    for (uint32_t i = 0; i < results.size(); ++i) {
      results[i].struct_size = sizeof results[i];
      tenon_value_info_t info = infoOf(i);
      if (info.appends_to < 0)
        continue;
      ++caches;
      size_t axis = size_t(info.grows_axis);
      int64_t capacity = dense[i].dims[axis] + more;
      tenon_tensor_t &past = arguments[size_t(info.appends_to)];
      auto target = std::make_unique<Roomy>(dense[i], axis, capacity);
      if (shared) {
        target->fill(past, axis);
        target->give(past, capacity);
      } else {
        int64_t room = past.dims[axis] + 2 * more;
        auto source = std::make_unique<Roomy>(past, axis, room);
        source->fill(past, axis);
        source->give(past, room);
        buffers.push_back(std::move(source));
      }
      target->give(results[i], capacity);
      grown[i] = std::move(target);
    }
    if (tenon_session_run(session.handle(), arguments.data(),
                          uint32_t(arguments.size()), results.data(),
                          uint32_t(results.size())))
      return tenon_last_error();
    for (uint32_t i = 0; i < results.size(); ++i) {
      const tenon_tensor_t &result = results[i];
      bool same = std::equal(result.dims, result.dims + result.rank,
                             dense[i].dims, dense[i].dims + dense[i].rank);
      if (same && grown[i])
        same = result.data == grown[i]->memory.get() &&
               grown[i]->holds(dense[i], size_t(infoOf(i).grows_axis));
      else if (same)
        same = result.bytes == dense[i].bytes &&
               (result.bytes == 0 ||
                !memcmp(result.data, dense[i].data, result.bytes));
      if (!same)
        return std::string("output ") + infoOf(i).name + " differs";
    }
    return "";
  }

  /// What must be refused, with a sentence.
  std::string refusals() {
    for (uint32_t i = 0; i < dense.size(); ++i) {
      tenon_value_info_t info = infoOf(i);
      std::vector<tenon_tensor_t> arguments = Session::arguments(inputs);
      std::vector<tenon_tensor_t> results(dense.size());
      for (tenon_tensor_t &result : results)
        result.struct_size = sizeof result;
      results[i].capacity =
          info.appends_to < 0 ? 100 : dense[i].dims[info.grows_axis] - 1;
      if (results[i].capacity != 0 && !isRefused(arguments, results))
        return std::string("output ") + info.name + ": capacity " +
               std::to_string(results[i].capacity) + " is not refused";
      results[i].capacity = 0;
      if (info.appends_to < 0)
        continue;
      tenon_tensor_t &past = arguments[size_t(info.appends_to)];
      past.capacity = -1;
      if (!isRefused(arguments, results))
        return "a negative capacity is not refused";
      past.capacity = past.dims[info.grows_axis] + 1; // With too few bytes.
      if (!isRefused(arguments, results))
        return "a capacity beyond the bytes is not refused";
    }
    return "";
  }

  bool isRefused(const std::vector<tenon_tensor_t> &arguments,
                 std::vector<tenon_tensor_t> &results) {
    return tenon_session_run(session.handle(), arguments.data(),
                             uint32_t(arguments.size()), results.data(),
                             uint32_t(results.size())) == TENON_BAD_INPUT;
  }

  Session &session;
  const std::vector<Tensor> &inputs;
  std::vector<std::vector<char>> copies;
  std::vector<tenon_tensor_t> dense;
  size_t caches = 0;
};

llvm::Error testModel(const std::string &folder, const std::string &artifact,
                      CacheType type) {
  Compilation compilation;
  CompileOptions options;
  options.kvCache = type;
  options.levels = {"native"};
  std::string text;
  if (!compileModel(compilation, modelFileOf(folder), options, artifact, text))
    return sentence("does not compile: " + compilation.errors.front());
  auto session = Session::open(artifact, "", 2);
  if (!session)
    return session.takeError();
  for (const std::string &set : dataSetsOf(folder)) {
    auto inputs = readInputs(**session, {{set}, {}});
    if (!inputs)
      return inputs.takeError();
    if (std::string why = Test(**session, *inputs).run(); !why.empty())
      return sentence(why);
  }
  return llvm::Error::success();
}

} // namespace

int main(int argc, char **argv) {
  llvm::SmallString<128> artifact;
  if (argc < 2)
    return fail("usage: model_caches MODEL...");
  if (llvm::sys::fs::createTemporaryFile("caches", "tenon", artifact))
    return fail("cannot make a file");
  int bad = 0;
  for (int i = 1; i < argc; ++i)
    for (CacheType type :
         {CacheType::AsGiven, CacheType::Bf16, CacheType::Int8})
      if (llvm::Error error = testModel(argv[i], artifact.str().str(), type))
        bad += fail(llvm::Twine(argv[i]) + " " + nameOf(type) + ": " +
                    llvm::toString(std::move(error)));
  llvm::sys::fs::remove(artifact);
  llvm::outs() << argc - 1 << " models, " << bad << " failures\n";
  return bad != 0;
}
