//===- SplitBatch.cpp - Some items of a batch at a time -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layer after layer, the maps of a whole batch go through memory; those of a
// few items stay in caches from one kernel to the next, and take no more memory
// however large the batch. Kernels take the number of items as a parameter, so
// that nothing but the launch table knows (decision 63).
//
//===----------------------------------------------------------------------===//

#include "compiler/Lowering/Passes.h"
#include "dialects/Kernel/Packing.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_SPLITBATCHPASS
#include "compiler/Lowering/Passes.h.inc"

namespace {
using exec::BufferAttr;
using graph::DimsAttr;
using graph::Expr;

/// Bytes of an arena that stays in caches. Of 15 models in bf16, by two threads
/// of a Xeon, most were fastest between 12 and 48 MB, and slower by 3 to 13 %
/// at twice as much.
constexpr int64_t cachedBytes = 32 << 20;

/// Weights are read anew for each piece: they shall be at most this part of
/// what it moves. At a sixth, two pieces of four images took 4 to 8 % longer
/// than one of eight (Inception).
constexpr int64_t weightsPart = 12;

/// What a program has to move, as formulas.
struct Traffic {
  Expr arena;   // Bytes of the values that are computed.
  Expr weights; // Bytes that each launch reads of weights.
  Expr others;  // Bytes of all else that is read and written.
};

Traffic trafficOf(exec::ProgramOp program) {
  Expr zero = Expr::constant(program.getContext(), 0);
  Traffic sum = {zero, zero, zero};
  for (Expr bytes : program.getSegments().exprs())
    sum.arena = sum.arena + bytes;
  program.walk([&](exec::LaunchOp launch) {
    auto cost = launch->getAttrOfType<DimsAttr>("cost");
    if (!cost)
      return;
    sum.weights = sum.weights + cost[1];
    sum.others = sum.others + cost[2];
    // Those in layouts of their own are not counted yet.
    for (BufferAttr buffer : exec::packedWeightsOf(launch, kernel::rowsLayout))
      sum.weights = sum.weights + buffer.getSizes()[1];
  });
  return sum;
}

/// As many items as have their values in caches, but enough to be worth reading
/// the weights once more. Null: the formula is too long.
Expr itemsAtOnce(exec::ProgramOp program, ArrayRef<Expr> counted) {
  MLIRContext *context = program.getContext();
  Expr one = Expr::constant(context, 1);
  auto ofOne = [&](Expr expr) {
    return expr
        .substitute([&](Expr symbol) {
          return llvm::is_contained(counted, symbol) ? one : Expr();
        })
        .max(one);
  };
  Traffic traffic = trafficOf(program);
  Expr cached =
      Expr::constant(context, cachedBytes).floorDiv(ofOne(traffic.arena));
  Expr worth = (traffic.weights * weightsPart).ceilDiv(ofOne(traffic.others));
  return cached.max(worth).max(one);
}

class Splitter {
public:
  /// `counted` is the items, then what there may be more of.
  Splitter(exec::ProgramOp program, ArrayRef<Expr> counted)
      : program(program), counted(counted), items(counted[0]),
        context(program.getContext()),
        from(Expr::symbol(context, items.name().str() + ".from")),
        here(Expr::symbol(context, items.name().str() + ".here")) {}

  /// What is left when a piece begins.
  Expr left() const { return items - from; }

  /// Into pieces of what `size`, a formula of what is left, says. False, and
  /// nothing has changed, where a formula grows too long.
  bool run(Expr size) {
    Block &body = program.getBody().front();
    if (isTaken(from) || isTaken(here) || !isStraight(body))
      return false;
    SmallVector<std::pair<Operation *, NamedAttribute>> changes;
    for (Operation &op : body)
      if (!isa<exec::RequireOp>(op)) // Of the whole.
        for (NamedAttribute attr : op.getAttrs()) {
          Attribute changed = ofPiece(attr.getValue());
          if (!changed)
            return false;
          changes.push_back({&op, {attr.getName(), changed}});
        }
    auto segments = cast_or_null<DimsAttr>(ofPiece(program.getSegments()));
    if (!segments)
      return false;
    for (auto &[op, attr] : changes)
      op->setAttr(attr.getName(), attr.getValue());
    program.setSegmentsAttr(segments);
    addSymbols();
    enclose(body, size);
    return true;
  }

private:
  bool isTaken(Expr symbol) {
    return llvm::is_contained(
        program.getSymbols().getAsValueRange<StringAttr>(), symbol.name());
  }

  /// A branch or a loop may be taken for some items and not for others.
  static bool isStraight(Block &body) {
    return llvm::all_of(body, [](Operation &op) {
      return op.getNumRegions() == 0 && !isa<exec::BindOp, exec::SetOp>(op);
    });
  }

  /// An attribute of an op that runs for the items of a piece; null where that
  /// cannot be said.
  Attribute ofPiece(Attribute attr) {
    if (auto list = dyn_cast<ArrayAttr>(attr)) {
      SmallVector<Attribute> parts;
      for (Attribute part : list) {
        parts.push_back(ofPiece(part));
        if (!parts.back())
          return {};
      }
      return ArrayAttr::get(context, parts);
    }
    if (auto buffer = dyn_cast<BufferAttr>(attr))
      return ofPiece(buffer);
    auto dims = dyn_cast<DimsAttr>(attr);
    if (!dims)
      return attr;
    SmallVector<Expr> exprs;
    for (Expr expr : dims.exprs()) {
      exprs.push_back(ofPiece(expr));
      if (!exprs.back())
        return {};
    }
    return DimsAttr::get(context, exprs);
  }

  Expr ofPiece(Expr expr) const {
    return expr.substitute([&](Expr symbol) {
      return llvm::is_contained(counted, symbol) ? here : Expr();
    });
  }

  /// Inputs and outputs hold all items.
  Attribute ofPiece(BufferAttr buffer) {
    Expr offset = ofPiece(buffer.getSizes()[0]);
    if (auto type = typeOf(buffer)) {
      Expr bytes = graph::product(context, graph::getDims(type)) *
                   int64_t(graph::byteWidth(type.getElementType()));
      for (Expr symbol : counted) // None: all items share it.
        if (Expr ofItem = bytes.exactDiv(symbol))
          offset = offset + from * ofItem;
    }
    Expr bytes = ofPiece(buffer.getSizes()[1]);
    if (!offset || !bytes)
      return {};
    return BufferAttr::get(context, buffer.getPlace(), buffer.getIndex(),
                           DimsAttr::get(context, {offset, bytes}),
                           buffer.getWeight(), buffer.getLayout());
  }

  RankedTensorType typeOf(BufferAttr buffer) {
    ArrayAttr types =
        buffer.getPlace() == exec::Place::Input    ? program.getInputTypes()
        : buffer.getPlace() == exec::Place::Output ? program.getOutputTypes()
                                                   : ArrayAttr();
    if (!types)
      return {};
    Attribute type = types[buffer.getIndex()];
    return cast<RankedTensorType>(cast<TypeAttr>(type).getValue());
  }

  void addSymbols() {
    Builder builder(context);
    auto names = llvm::to_vector(program.getSymbols());
    auto los = llvm::to_vector(program.getLo());
    auto his = llvm::to_vector(program.getHi());
    for (Expr symbol : {from, here}) {
      names.push_back(builder.getStringAttr(symbol.name()));
      los.push_back(0);
      his.push_back(INT32_MAX);
    }
    program.setSymbolsAttr(builder.getArrayAttr(names));
    program.setLo(los);
    program.setHi(his);
  }

  void enclose(Block &body, Expr size) {
    auto steps = llvm::find_if_not(
        body, [](Operation &op) { return isa<exec::RequireOp>(op); });
    for (auto require :
         llvm::make_early_inc_range(body.getOps<exec::RequireOp>()))
      if (steps != body.end() && steps->isBeforeInBlock(require))
        require->moveBefore(&body, steps);
    OpBuilder builder(&body, steps);
    auto pieces = exec::PiecesOp::create(builder, builder.getUnknownLoc(),
                                         from.name(), here.name(),
                                         DimsAttr::get(context, {items, size}));
    Block *inner = builder.createBlock(&pieces.getBody());
    inner->getOperations().splice(inner->end(), body.getOperations(),
                                  std::next(pieces->getIterator()), body.end());
  }

  exec::ProgramOp program;
  ArrayRef<Expr> counted;
  Expr items;
  MLIRContext *context;
  Expr from, here;
};

struct SplitBatch : impl::SplitBatchPassBase<SplitBatch> {
  using SplitBatchPassBase::SplitBatchPassBase;

  void runOnOperation() override {
    getOperation().walk([&](exec::ProgramOp program) { split(program); });
  }

  void split(exec::ProgramOp program) {
    std::optional<ArrayAttr> batch = program.getBatch();
    if (!batch)
      return;
    SmallVector<Expr> counted;
    for (auto name : batch->getAsRange<StringAttr>())
      counted.push_back(Expr::symbol(&getContext(), name));
    Splitter splitter(program, counted);
    if (Expr size = sizeOf(program, counted, splitter.left());
        size && splitter.run(size))
      return;
    if (explain)
      emitRemark(program.getLoc())
          << "all of " << counted[0].name()
          << " runs at once: sizes depend on data, or grow too long";
  }

  /// Of a piece, as those of what is left are to be as equal as may be. It has
  /// nearly twice as many items rather than fewer than are best, but no more
  /// than were asked for.
  Expr sizeOf(exec::ProgramOp program, ArrayRef<Expr> counted, Expr left) {
    Expr one = Expr::constant(&getContext(), 1);
    Expr pieces = atOnce > 0
                      ? left.ceilDiv(Expr::constant(&getContext(), atOnce))
                      : left.floorDiv(itemsAtOnce(program, counted));
    return left.ceilDiv(pieces.max(one));
  }
};

} // namespace
} // namespace tenon
