//===- Metadata.cpp - The launch table as bytes of the artifact -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Package/Metadata.h"

#include "compiler/Package/ElementTypes.h"
#include "compiler/Package/Tables.h"
#include "dialects/Kernel/Packing.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tenon;
using graph::Expr;

namespace {

/// The names in a location, in order.
void collectNames(Location location, std::vector<std::string> &names) {
  if (auto fused = dyn_cast<FusedLoc>(location)) {
    for (Location part : fused.getLocations())
      collectNames(part, names);
  } else if (auto name = dyn_cast<NameLoc>(location)) {
    names.push_back(name.getName().str());
  }
}

class Writer {
public:
  Writer(WeightPlan &plan, MLIRContext *context)
      : plan(plan), context(context) {}

  Tables tables;

  void addLevels(ArrayRef<LevelCode> levels) {
    for (const LevelCode &level : levels)
      tables.levels.push_back({tables.string(level.name), level.features});
  }
  void addKernels(ModuleOp module, ArrayRef<LevelCode> levels,
                  std::vector<std::string> &codeSymbols);
  void addDevice(const TargetProgram &program);
  void addProgram(exec::ProgramOp program);
  void addWeights();

private:
  void addSteps(Block &block);
  void add(exec::LaunchOp launch);
  void addCost(exec::LaunchOp launch);
  void add(exec::BindOp bind);
  void add(exec::RequireOp require);
  void add(exec::IfOp branch);
  void add(exec::LoopOp loop);
  void add(exec::PiecesOp pieces);
  void set(Operation *op, StringRef symbol, Expr value);
  tenon_step_t &step(tenon_step_kind_t kind, Operation *op);
  void addBuffer(tenon_step_t &step, exec::BufferAttr buffer);
  tenon_buffer_t bufferOf(exec::BufferAttr buffer);
  tenon_buffer_t weightBuffer(exec::BufferAttr buffer);
  std::vector<tenon_value_t> valuesOf(ArrayAttr names, ArrayAttr types,
                                      std::optional<ArrayAttr> stored);
  void addRoom(tenon_value_t &value, Type held, Type stored);
  void fail(const llvm::Twine &reason) {
    if (tables.problem.empty())
      tables.problem = reason.str();
  }

  WeightPlan &plan;
  MLIRContext *context;
  llvm::StringMap<uint32_t> kernelNumbers;
};

void Writer::addKernels(ModuleOp module, ArrayRef<LevelCode> levels,
                        std::vector<std::string> &codeSymbols) {
  for (auto function : module.getOps<kernel::FuncOp>()) {
    StringRef name = function.getSymName();
    kernelNumbers[name] = uint32_t(tables.kernels.size());
    tables.kernels.push_back(
        {tables.string(name), tables.string(function.getSchedule())});
    for (const LevelCode &level : levels)
      codeSymbols.push_back((name + "." + level.name).str());
  }
  tables.code.resize(codeSymbols.size());
}

void Writer::addDevice(const TargetProgram &program) {
  tables.target = program.target;
  for (const DeviceImage &image : program.images)
    tables.images.push_back(
        {image.kind | (image.waits ? uint32_t(TENON_IMAGE_WAITS) : 0), image.sm,
         0, image.bytes.size()});
  tables.blocks = program.blocks.vec();
  if (program.target != TENON_TARGET_CPU &&
      tables.blocks.size() != tables.kernels.size())
    fail("internal error: a kernel has no code for the device; please report "
         "this");
}

/// Where the memory of a value may be larger than what it holds.
void Writer::addRoom(tenon_value_t &value, Type held, Type stored) {
  for (auto [axis, dims] : llvm::enumerate(
           llvm::zip(graph::getDims(held), graph::getDims(stored)))) {
    auto [dim, room] = dims;
    if (dim == room)
      continue;
    if (!room.isSymbol() || value.room != 0)
      return fail("internal error: the room of a value is no symbol; please "
                  "report this");
    value.room = tables.symbol(room.name()) + 1;
    value.axis = uint32_t(axis);
  }
}

std::vector<tenon_value_t> Writer::valuesOf(ArrayAttr names, ArrayAttr types,
                                            std::optional<ArrayAttr> stored) {
  std::vector<tenon_value_t> values;
  for (auto [name, type] : llvm::zip(names, types)) {
    auto tensor = cast<RankedTensorType>(cast<TypeAttr>(type).getValue());
    tenon_value_t value = {};
    value.name = tables.string(cast<StringAttr>(name).getValue());
    value.dtype = dtypeOf(tensor.getElementType());
    value.rank = uint32_t(tensor.getRank());
    value.first_dim = uint32_t(tables.dims.size());
    for (Expr dim : graph::getDims(tensor))
      tables.dims.push_back(tables.expression(dim));
    if (stored)
      addRoom(value, tensor,
              cast<TypeAttr>((*stored)[values.size()]).getValue());
    values.push_back(value);
  }
  return values;
}

void Writer::addProgram(exec::ProgramOp program) {
  for (auto [name, lo, hi] :
       llvm::zip(program.getSymbols().getAsRange<StringAttr>(), program.getLo(),
                 program.getHi()))
    tables.addSymbol(name, lo, hi);
  tables.inputs = valuesOf(program.getInputs(), program.getInputTypes(),
                           program.getStoredInputs());
  tables.outputs = valuesOf(program.getOutputs(), program.getOutputTypes(),
                            program.getStoredOutputs());
  if (auto inputs = program.getAppendsTo())
    for (auto [output, input] : llvm::zip_equal(tables.outputs, *inputs))
      output.appends_to = uint32_t(input + 1);
  for (Expr bytes : program.getSegments().exprs())
    tables.segments.push_back({tables.expression(bytes), 0});
  addSteps(program.getBody().front());
}

tenon_step_t &Writer::step(tenon_step_kind_t kind, Operation *op) {
  tenon_step_t step = {};
  step.kind = kind;
  step.first_buffer = uint32_t(tables.buffers.size());
  step.first_param = uint32_t(tables.params.size());
  std::vector<std::string> names;
  if (auto list = op->getAttrOfType<ArrayAttr>("nodes"))
    for (auto name : list.getAsRange<StringAttr>())
      names.push_back(name.str());
  else
    collectNames(op->getLoc(), names);
  step.first_node = tables.nodeList(names);
  step.node_count = uint32_t(names.size());
  tables.steps.push_back(step);
  tables.costs.push_back({});
  return tables.steps.back();
}

tenon_buffer_t Writer::weightBuffer(exec::BufferAttr buffer) {
  tenon_buffer_t result = {TENON_PLACE_WEIGHTS, 0, 0, 0};
  auto placed =
      plan.place(buffer.getWeight().getValue(), buffer.getLayout().getValue());
  if (!placed) {
    fail(llvm::toString(placed.takeError()));
    return result;
  }
  // A layout of its own has a size of its own; only row-major has parts.
  bool whole = !placed->layout.empty();
  Expr start = Expr::constant(context, int64_t(placed->offset));
  result.offset =
      tables.expression(whole ? start : start + buffer.getSizes()[0]);
  result.bytes = whole ? tables.constant(context, int64_t(placed->bytes))
                       : tables.expression(buffer.getSizes()[1]);
  return result;
}

tenon_buffer_t Writer::bufferOf(exec::BufferAttr buffer) {
  if (buffer.getPlace() == exec::Place::None)
    return {TENON_PLACE_NONE, 0, 0, 0};
  if (buffer.getPlace() == exec::Place::Weights)
    return weightBuffer(buffer);
  return {uint32_t(buffer.getPlace()), uint32_t(buffer.getIndex()),
          tables.expression(buffer.getSizes()[0]),
          tables.expression(buffer.getSizes()[1])};
}

void Writer::addBuffer(tenon_step_t &step, exec::BufferAttr buffer) {
  tables.buffers.push_back(bufferOf(buffer));
  ++step.buffer_count;
}

void Writer::add(exec::LaunchOp launch) {
  tenon_step_t &added = step(TENON_STEP_LAUNCH, launch);
  auto kernel = kernelNumbers.find(launch.getKernel());
  if (kernel == kernelNumbers.end())
    return fail("internal error: there is no kernel '" + launch.getKernel() +
                "'; please report this");
  added.a = kernel->second;
  graph::DimsAttr geometry = launch.getGeometry();
  added.b = tables.expression(geometry[0]);
  added.c = tables.expression(geometry[1]);
  added.d = tables.expression(geometry[2]);
  if (geometry.size() > 3)
    added.shared = tables.expression(geometry[3]) + 1;
  for (auto buffer : launch.getBuffers().getAsRange<exec::BufferAttr>())
    addBuffer(added, buffer);
  for (Expr param : launch.getParams().exprs()) {
    tables.params.push_back(tables.expression(param));
    ++added.param_count;
  }
  addCost(launch);
}

void Writer::addCost(exec::LaunchOp launch) {
  auto cost = launch->getAttrOfType<graph::DimsAttr>("cost");
  if (!cost)
    return;
  Expr weights = cost[1];
  for (exec::BufferAttr buffer :
       exec::packedWeightsOf(launch, kernel::rowsLayout)) {
    auto placed = plan.place(buffer.getWeight().getValue(),
                             buffer.getLayout().getValue());
    if (placed)
      weights = weights + int64_t(placed->bytes);
    else
      llvm::consumeError(placed.takeError()); // Its buffer reported that.
  }
  if (!weights)
    return;
  tenon_cost_t &added = tables.costs.back();
  added.flops = tables.expression(cost[0]) + 1;
  added.weight_bytes = tables.expression(weights) + 1;
  added.bytes = tables.expression(cost[2]) + 1;
  if (auto factors = launch->getAttrOfType<TypeAttr>("factors"))
    added.dtype = dtypeOf(factors.getValue());
}

/// One step per run of symbols with consecutive numbers.
void Writer::add(exec::BindOp bind) {
  uint32_t dtype = dtypeOf(bind.getElement());
  if (dtype != TENON_I32 && dtype != TENON_I64)
    return fail("internal error: sizes are read from a tensor that is not i32 "
                "or i64; please report this");
  int64_t width = dtype == TENON_I32 ? 4 : 8;
  auto names = llvm::to_vector(bind.getSymbols().getAsRange<StringAttr>());
  exec::BufferAttr buffer = bind.getBuffer();
  for (size_t first = 0, count; first < names.size(); first += count) {
    uint32_t symbol = tables.symbol(names[first]);
    for (count = 1; first + count < names.size(); ++count)
      if (tables.symbol(names[first + count]) != symbol + count)
        break;
    tenon_step_t &added = step(TENON_STEP_BIND, bind);
    added.a = symbol;
    added.b = uint32_t(count);
    added.c = dtype;
    Expr offset = buffer.getSizes()[0] + int64_t(first) * width;
    Expr bytes = Expr::constant(context, int64_t(count) * width);
    addBuffer(added, exec::BufferAttr::get(
                         context, buffer.getPlace(), buffer.getIndex(),
                         graph::DimsAttr::get(context, {offset, bytes}),
                         buffer.getWeight(), buffer.getLayout()));
  }
}

void Writer::add(exec::RequireOp require) {
  tenon_step_t &added = step(TENON_STEP_REQUIRE, require);
  added.a = tables.expression(require.getSizes()[0]);
  added.b = tables.expression(require.getSizes()[1]);
  added.c = uint32_t(require.getRelation());
  added.message = tables.string(require.getMessage());
}

void Writer::add(exec::IfOp branch) {
  size_t choose = tables.steps.size();
  addBuffer(step(TENON_STEP_JUMP_UNLESS, branch), branch.getCondition());
  addSteps(branch.getThenRegion().front());
  size_t leave = tables.steps.size();
  step(TENON_STEP_JUMP, branch);
  tables.steps[choose].a = uint32_t(tables.steps.size());
  addSteps(branch.getElseRegion().front());
  tables.steps[leave].a = uint32_t(tables.steps.size());
}

void Writer::add(exec::LoopOp loop) {
  size_t choose = tables.steps.size();
  addBuffer(step(TENON_STEP_JUMP_UNLESS, loop), loop.getCondition());
  addSteps(loop.getBody().front());
  step(TENON_STEP_JUMP, loop).a = uint32_t(choose);
  tables.steps[choose].a = uint32_t(tables.steps.size());
}

void Writer::set(Operation *op, StringRef symbol, Expr value) {
  tenon_step_t &added = step(TENON_STEP_SET, op);
  added.a = tables.symbol(symbol);
  added.b = tables.expression(value);
}

/// The start is set behind the last piece no more: sizes of a run of one piece
/// are those of the next one, and no formula has to be evaluated again.
void Writer::add(exec::PiecesOp pieces) {
  Expr from = Expr::symbol(context, pieces.getFrom());
  Expr here = Expr::symbol(context, pieces.getHere());
  Expr whole = pieces.getSizes()[0];
  set(pieces, pieces.getFrom(), Expr::constant(context, 0));
  size_t top = tables.steps.size();
  set(pieces, pieces.getHere(), pieces.getSizes()[1]);
  addSteps(pieces.getBody().front());
  size_t choose = tables.steps.size();
  tenon_step_t &choice = step(TENON_STEP_JUMP_UNLESS_LESS, pieces);
  choice.b = tables.expression(from + here);
  choice.c = tables.expression(whole);
  set(pieces, pieces.getFrom(), from + here);
  step(TENON_STEP_JUMP, pieces).a = uint32_t(top);
  tables.steps[choose].a = uint32_t(tables.steps.size());
}

void Writer::addSteps(Block &block) {
  for (Operation &op : block)
    llvm::TypeSwitch<Operation *>(&op)
        .Case<exec::LaunchOp, exec::BindOp, exec::RequireOp, exec::IfOp,
              exec::LoopOp, exec::PiecesOp>([&](auto known) { add(known); })
        .Case([&](exec::SegmentOp segment) {
          step(TENON_STEP_SEGMENT, segment).a = uint32_t(segment.getIndex());
        })
        .Case(
            [&](exec::SetOp op) { set(op, op.getSymbol(), op.getValue()[0]); })
        .Case([&](exec::CopyOp copy) {
          tenon_step_t &added = step(TENON_STEP_COPY, copy);
          addBuffer(added, copy.getSource());
          addBuffer(added, copy.getTarget());
        })
        .Default([&](Operation *other) {
          fail("internal error: '" + other->getName().getStringRef() +
               "' in the program; please report this");
        });
}

void Writer::addWeights() {
  for (const PlacedWeight &placed : plan.placed())
    tables.weights.push_back(
        {tables.string(placed.weight->name), placed.offset, placed.bytes,
         dtypeOf(placed.weight->elementType),
         uint32_t(placed.weight->shape.size()),
         tables.string(placed.layout.empty() ? "row-major" : placed.layout)});
}

} // namespace

llvm::Expected<Metadata> tenon::buildMetadata(const TargetProgram &program,
                                              const PackageOptions &options,
                                              WeightPlan &plan) {
  Metadata metadata;
  metadata.images = program.images;
  exec::ProgramOp table = program.program;
  Writer writer(plan, table.getContext());
  writer.tables.modelName = writer.tables.string(options.modelName);
  writer.tables.producer = writer.tables.string(options.producer);
  writer.addLevels(program.levels);
  writer.addKernels(program.kernels, program.levels, metadata.codeSymbols);
  writer.addDevice(program);
  writer.addProgram(table);
  writer.addWeights();
  auto bytes = writer.tables.serialize();
  if (!bytes)
    return bytes.takeError();
  metadata.bytes = std::move(*bytes);
  return metadata;
}
