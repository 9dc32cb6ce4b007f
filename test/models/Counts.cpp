//===- Counts.cpp - What the recognisers find in each model ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   model_counts COUNTS.csv MODELS           holds the models to the counts
//   model_counts --print COUNTS.csv MODELS   prints the counts of today
//
// All exporters of one network must end in the same counts; where they do not,
// the row says what is expected and why it is not so.
//
//===----------------------------------------------------------------------===//

#include "compiler/Pipeline.h"
#include "dialects/Graph/Graph.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tenon;

namespace {

/// A number per name, in the order in which names are listed.
class Tally {
public:
  explicit Tally(std::vector<std::string> names) : names(std::move(names)) {}

  int &operator[](StringRef name) { return numbers[name]; }

  /// "layer_norm 5 rms_norm 1", nothing for what there is none of.
  std::string str() const {
    std::string text;
    for (const std::string &name : names)
      if (int number = numbers.lookup(name))
        text += (text.empty() ? "" : " ") + name + " " + std::to_string(number);
    return text;
  }

private:
  std::vector<std::string> names;
  llvm::StringMap<int> numbers;
};

/// Whether a value depends on weights only.
bool isStored(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<graph::WeightOp, graph::ConstantOp>(op))
    return true;
  return op && op->getNumOperands() > 0 && op->getNumRegions() == 0 &&
         llvm::all_of(op->getOperands(), isStored);
}

bool isScalar(Value value) {
  auto constant = value.getDefiningOp<graph::ConstantOp>();
  return constant && cast<ShapedType>(constant.getType()).getNumElements() == 1;
}

/// cap * tanh(x / cap)
bool isSoftcap(graph::TanhOp op) {
  auto scales = [](Operation *by) {
    return isa_and_nonnull<graph::MulOp, graph::DivOp>(by) &&
           llvm::any_of(by->getOperands(), isScalar);
  };
  return op->hasOneUse() && scales(op.getInput().getDefiningOp()) &&
         scales(*op->user_begin());
}

bool isSilu(graph::MulOp op) {
  auto sigmoid = op.getRhs().getDefiningOp<graph::SigmoidOp>();
  return sigmoid && sigmoid.getInput() == op.getLhs();
}

/// The clamp of a whole tensor's range is none.
bool isRelu(graph::MaxOp op) {
  if (graph::getRank(op) == 0)
    return false;
  auto isZero = [](Value value) {
    auto constant = value.getDefiningOp<graph::ConstantOp>();
    auto elements = constant
                        ? dyn_cast<DenseFPElementsAttr>(constant.getValue())
                        : DenseFPElementsAttr();
    return elements && elements.isSplat() &&
           elements.getSplatValue<APFloat>().isZero();
  };
  return isZero(op.getLhs()) || isZero(op.getRhs());
}

constexpr const char *header =
    "model,attention,norm,activation,rotary,matmul,product,conv";

/// The columns of a row behind the model's name.
std::vector<std::string> countsOf(ModuleOp module) {
  int attention = 0, rotary = 0, matmul = 0, product = 0, conv = 0;
  Tally norms({"layer_norm", "rms_norm"});
  Tally activations({"gelu_erf", "gelu_tanh", "gelu_quick", "silu", "relu",
                     "erf", "tanh", "softcap", "softmax"});
  module.walk([&](Operation *op) {
    attention += isa<graph::AttentionOp>(op);
    rotary += isa<graph::RotaryOp>(op);
    conv += isa<graph::ConvOp>(op);
    if (isa<graph::MatmulOp>(op))
      ++(llvm::any_of(op->getOperands(), isStored) ? matmul : product);
    norms["layer_norm"] += isa<graph::LayerNormOp>(op);
    norms["rms_norm"] += isa<graph::RmsNormOp>(op);
    activations["erf"] += isa<graph::ErfOp>(op);
    activations["softmax"] += isa<graph::SoftmaxOp>(op);
    if (auto gelu = dyn_cast<graph::GeluOp>(op))
      ++activations["gelu_" + graph::stringifyGeluKind(gelu.getKind()).str()];
    if (auto tanh = dyn_cast<graph::TanhOp>(op))
      ++activations[isSoftcap(tanh) ? "softcap" : "tanh"];
    if (auto core = dyn_cast<graph::AttentionOp>(op))
      activations["softcap"] += core.getSoftcap().convertToDouble() > 0;
    if (auto mul = dyn_cast<graph::MulOp>(op))
      activations["silu"] += isSilu(mul);
    if (auto max = dyn_cast<graph::MaxOp>(op))
      activations["relu"] += isRelu(max);
  });
  return {std::to_string(attention), norms.str(),
          activations.str(),         std::to_string(rotary),
          std::to_string(matmul),    std::to_string(product),
          std::to_string(conv)};
}

/// The counts of a model file, or why it does not compile.
llvm::Expected<std::vector<std::string>> countsOf(const std::string &path) {
  Compilation compilation;
  CompileOptions options;
  options.stage = EmitStage::Graph;
  if (!lowerModel(compilation, path, options))
    return llvm::createStringError(compilation.errors.front());
  return countsOf(*compilation.module);
}

int fail(const llvm::Twine &message) {
  llvm::errs() << "model_counts: " << message << '\n';
  return 1;
}

/// The models of a folder, by name.
std::vector<std::string> modelsIn(const std::string &folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator at(folder, error), end;
       at != end && !error; at.increment(error))
    if (llvm::sys::fs::exists(at->path() + "/model.onnx"))
      names.push_back(llvm::sys::path::filename(at->path()).str());
  llvm::sort(names);
  return names;
}

/// The rows of a table without its header, in cells; all from the last named
/// column on is one cell.
std::vector<SmallVector<StringRef>> rowsOf(StringRef table) {
  size_t columns = StringRef(header).count(',') + 1;
  SmallVector<StringRef> lines;
  table.split(lines, '\n', -1, false);
  std::vector<SmallVector<StringRef>> rows;
  for (StringRef line : llvm::drop_begin(lines)) {
    SmallVector<StringRef> &cells = rows.emplace_back();
    line.split(cells, ',', columns);
    cells.resize(columns + 1);
  }
  return rows;
}

/// A new table; what is expected stays as it was.
int print(StringRef table, const std::string &folder) {
  llvm::StringMap<StringRef> expected;
  for (const SmallVector<StringRef> &row : rowsOf(table))
    expected[row.front()] = row.back();
  llvm::outs() << header << ",expected\n";
  for (const std::string &name : modelsIn(folder)) {
    auto counts = countsOf(folder + "/" + name + "/model.onnx");
    if (!counts)
      return fail(name + ": " + llvm::toString(counts.takeError()));
    llvm::outs() << name << ',' << llvm::join(*counts, ",") << ','
                 << expected.lookup(name) << '\n';
  }
  return 0;
}

int check(StringRef table, const std::string &folder) {
  SmallVector<StringRef> columns;
  StringRef(header).split(columns, ',');
  std::vector<std::string> named;
  int bad = 0;
  for (const SmallVector<StringRef> &row : rowsOf(table)) {
    std::string name = row.front().str();
    named.push_back(name);
    auto counts = countsOf(folder + "/" + name + "/model.onnx");
    if (!counts) {
      bad += fail(name + ": " + llvm::toString(counts.takeError()));
      continue;
    }
    for (size_t i = 1; i < columns.size(); ++i)
      if (row[i] != (*counts)[i - 1])
        bad += fail(name + ": " + columns[i] + " is '" + (*counts)[i - 1] +
                    "', not '" + row[i] + "'");
  }
  llvm::sort(named);
  if (named != modelsIn(folder))
    bad += fail("the rows are not those of the models");
  llvm::outs() << named.size() << " models, " << bad << " differences\n";
  return bad != 0;
}

} // namespace

int main(int argc, char **argv) {
  bool isPrint = argc == 4 && StringRef(argv[1]) == "--print";
  if (argc != 3 && !isPrint)
    return fail("usage: model_counts [--print] COUNTS.csv MODELS");
  const char *table = argv[argc - 2], *folder = argv[argc - 1];
  auto file = llvm::MemoryBuffer::getFile(table);
  if (!file)
    return fail(llvm::Twine("cannot read ") + table);
  return isPrint ? print((*file)->getBuffer(), folder)
                 : check((*file)->getBuffer(), folder);
}
