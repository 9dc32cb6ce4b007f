//===- PlanDrawing.cpp - A picture of the memory plan ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Lowering/PlanDrawing.h"
#include "dialects/Kernel/Kernel.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tenon {
namespace {

using exec::BufferAttr;

class PlanReader {
public:
  PlanReader(exec::ProgramOp program) : program(program) {
    for (auto [name, lo, hi] :
         llvm::zip(program.getSymbols(), program.getLo(), program.getHi()))
      sizes[cast<StringAttr>(name).getValue()] = drawnSize(lo, hi);
  }

  llvm::Expected<DrawnPlan> read() {
    // By what the steps set: an arena may be for a piece of what is given.
    visit(program.getBody().front());
    for (graph::Expr bytes : program.getSegments().exprs())
      plan.segments.push_back(numberOf(bytes));
    if (failed)
      return llvm::createStringError("the sizes of the plan overflow for the "
                                     "dims that it is drawn for; give smaller "
                                     "ones with --dim");
    for (auto &[place, buffer] : live)
      plan.buffers.push_back(buffer);
    llvm::sort(plan.buffers, [](const auto &a, const auto &b) {
      return std::tie(a.firstStep, a.segment, a.offset) <
             std::tie(b.firstStep, b.segment, b.offset);
    });
    return std::move(plan);
  }

private:
  using Place = std::pair<int64_t, int64_t>; // Segment, offset.

  int64_t numberOf(graph::Expr expr) {
    // A symbol without a range is set inside the program, by an `exec.set` or
    // an `exec.bind` that came before.
    std::optional<int64_t> value =
        expr.evaluate([&](StringRef name) -> std::optional<int64_t> {
          auto found = sizes.find(name);
          return found == sizes.end() ? drawnSize(0, INT64_MAX) : found->second;
        });
    failed |= !value || *value < 0;
    return value.value_or(0);
  }

  void visit(Block &block) {
    for (Operation &op : block) {
      if (auto set = dyn_cast<exec::SetOp>(op)) {
        sizes[set.getSymbol()] = numberOf(set.getValue()[0]);
      } else if (auto launch = dyn_cast<exec::LaunchOp>(op)) {
        launchKernel(launch);
        ++plan.steps;
      } else if (auto copy = dyn_cast<exec::CopyOp>(op)) {
        use(copy.getSource(), "copy");
        use(copy.getTarget(), "copy", /*isWritten=*/true);
        ++plan.steps;
      } else if (auto bind = dyn_cast<exec::BindOp>(op)) {
        use(bind.getBuffer(), "bind");
        ++plan.steps;
      } else if (auto choice = dyn_cast<exec::IfOp>(op)) {
        use(choice.getCondition(), "if");
        ++plan.steps;
        visit(choice.getThenRegion().front());
        visit(choice.getElseRegion().front());
      } else if (auto loop = dyn_cast<exec::LoopOp>(op)) {
        use(loop.getCondition(), "loop");
        ++plan.steps;
        visit(loop.getBody().front());
      } else if (auto pieces = dyn_cast<exec::PiecesOp>(op)) {
        // The first one, which is the largest.
        sizes[pieces.getFrom()] = 0;
        sizes[pieces.getHere()] = numberOf(pieces.getSizes()[1]);
        visit(pieces.getBody().front());
      }
    }
  }

  void launchKernel(exec::LaunchOp launch) {
    auto module = program->getParentOfType<ModuleOp>();
    auto kernel = module ? module.lookupSymbol<kernel::FuncOp>(
                               launch.getKernelAttr().getValue())
                         : kernel::FuncOp();
    // Results come behind the operands.
    size_t operands = kernel ? kernel.getBlock().getNumArguments()
                             : launch.getBuffers().size();
    std::string name = nodesOf(launch);
    for (auto [i, buffer] : llvm::enumerate(launch.getBuffers()))
      use(cast<BufferAttr>(buffer), name, /*isWritten=*/i >= operands);
  }

  static std::string nodesOf(exec::LaunchOp launch) {
    auto nodes = launch->getAttrOfType<ArrayAttr>("nodes");
    std::string text = launch.getKernel().str();
    for (Attribute node : nodes ? nodes.getValue() : ArrayRef<Attribute>())
      if (auto name = dyn_cast<StringAttr>(node); name && !name.empty())
        text += " " + name.getValue().str();
    return text;
  }

  /// What is written begins a box; what is read prolongs the one at its place.
  void use(BufferAttr attr, const std::string &name, bool isWritten = false) {
    if (attr.getPlace() != exec::Place::Arena)
      return;
    PlannedBuffer now;
    now.segment = attr.getIndex();
    now.offset = numberOf(attr.getSizes()[0]);
    now.bytes = numberOf(attr.getSizes()[1]);
    now.firstStep = now.lastStep = plan.steps;
    now.name = name;
    auto [found, isNew] = live.try_emplace(Place(now.segment, now.offset), now);
    if (isNew)
      return;
    if (!isWritten) {
      found->second.lastStep = plan.steps;
      return;
    }
    plan.buffers.push_back(found->second);
    found->second = now;
  }

  exec::ProgramOp program;
  llvm::StringMap<int64_t> sizes;
  llvm::MapVector<Place, PlannedBuffer> live;
  DrawnPlan plan;
  bool failed = false;
};

std::string escaped(StringRef text) {
  std::string result;
  llvm::raw_string_ostream os(result);
  llvm::printHTMLEscaped(text, os);
  return result;
}

} // namespace

int64_t drawnSize(int64_t lo, int64_t hi) {
  return std::max(lo, std::min(hi, usualSize));
}

llvm::Expected<DrawnPlan> planOf(exec::ProgramOp program) {
  return PlanReader(program).read();
}

std::string drawPlan(const DrawnPlan &plan) {
  constexpr double width = 1200, height = 600, margin = 20;
  std::vector<int64_t> starts;
  int64_t total = 0;
  for (int64_t bytes : plan.segments) {
    starts.push_back(total);
    total += bytes;
  }
  double perStep = width / std::max<int64_t>(1, plan.steps);
  double perByte = height / std::max<int64_t>(1, total);
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\""
     << int(width + 2 * margin) << "\" height=\"" << int(height + 3 * margin)
     << "\" font-family=\"sans-serif\" font-size=\"12\">\n"
     << "<text x=\"20\" y=\"15\">" << total << " bytes, " << plan.buffers.size()
     << " buffers, " << plan.steps << " steps</text>\n";
  for (auto [i, buffer] : llvm::enumerate(plan.buffers)) {
    double y = perByte * (starts[buffer.segment] + buffer.offset);
    os << llvm::format("<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
                       "height=\"%.2f\" ",
                       margin + perStep * buffer.firstStep, margin + y,
                       perStep * (buffer.lastStep - buffer.firstStep + 1),
                       std::max(0.5, perByte * buffer.bytes))
       << "fill=\"hsl(" << i * 47 % 360
       << ",60%,70%)\" stroke=\"#444\" stroke-width=\"0.3\"><title>"
       << escaped(buffer.name) << ": " << buffer.bytes << " bytes at "
       << buffer.offset << ", steps " << buffer.firstStep << " to "
       << buffer.lastStep << "</title></rect>\n";
  }
  os << "</svg>\n";
  return text;
}

} // namespace tenon
