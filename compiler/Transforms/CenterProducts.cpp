//===- CenterProducts.cpp - Products of bytes as devices multiply them ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix instructions of devices multiply numbers with a sign and know no zero
// points. A row of ui8 less z is one of i8, counted from 128, plus 128 - z; by
// a weight that is the product of the i8, plus the sums of the weight's columns
// times 128 - z. All of it modulo 2^32, as products of i32 are.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Int8Products.h"
#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/Passes.h"
#include "dialects/Kernel/ByteProduct.h"
#include "dialects/Kernel/IntegerMatmulView.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_CENTERPRODUCTSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

/// What a ui8 has to be counted from to fit an i8.
constexpr int64_t middle = 128;

class Centering {
public:
  explicit Centering(graph::MatmulOp op)
      : op(op), b(op), loc(op.getLoc()), i32(b.getI32Type()) {}

  void run() {
    std::optional<kernel::IntegerMatmulView> view =
        kernel::integerMatmulViewOf(op);
    if (!view || kernel::byteProductOf(op) || !canCenter(view->lhs) ||
        !view->rhs.view.base.getDefiningOp<graph::WeightOp>())
      return;
    Value wide = op.getLhs();
    if (auto sub = wide.getDefiningOp<graph::SubOp>())
      wide = sub.getLhs();
    bool isSigned = view->lhs.isSigned();
    Value from = numberOf(b, loc, i32, isSigned ? 0 : middle), centered = wide;
    if (!isSigned)
      centered = graph::SubOp::create(b, loc, wide.getType(), wide, from);
    auto product =
        graph::MatmulOp::create(b, loc, op.getType(), centered, op.getRhs());
    if (!kernel::byteProductOf(product)) {
      eraseUnused(product);
      return;
    }
    Value sum = graph::AddOp::create(b, loc, op.getType(), product,
                                     rest(from, view->lhs.zero));
    op.getResult().replaceAllUsesWith(sum);
    eraseUnused(op);
  }

private:
  /// Of one zero point for all rows, or none.
  static bool canCenter(const kernel::IntegerFactor &lhs) {
    return !lhs.zero || graph::isOneNumber(lhs.zero);
  }

  /// The sums of the weight's columns times what rows are lower by, [N].
  Value rest(Value lower, Value zero) {
    Type scalar = graph::tensorOf({}, i32);
    if (zero) {
      if (graph::getRank(zero) > 0)
        zero = graph::ReshapeOp::create(b, loc, scalar, zero);
      lower = graph::SubOp::create(b, loc, scalar, lower, zero);
    }
    Value rhs = op.getRhs();
    SmallVector<graph::Expr> dims = graph::getDims(rhs);
    graph::Expr columns = dims.back();
    dims.front() = graph::Expr::constant(b.getContext(), 1);
    Value sums = graph::ReduceOp::create(
        b, loc, graph::tensorOf(dims, i32), rhs, b.getDenseI64ArrayAttr({0}),
        graph::ReduceKindAttr::get(b.getContext(), graph::ReduceKind::Sum));
    Type type = graph::tensorOf({columns}, i32);
    sums = graph::ReshapeOp::create(b, loc, type, sums);
    return graph::MulOp::create(b, loc, type, sums, lower);
  }

  graph::MatmulOp op;
  OpBuilder b;
  Location loc;
  Type i32;
};

struct CenterProducts : impl::CenterProductsPassBase<CenterProducts> {
  void runOnOperation() override {
    SmallVector<graph::MatmulOp> products;
    getOperation().walk([&](graph::MatmulOp op) {
      if (graph::getElementType(op.getResult()).isSignlessInteger(32))
        products.push_back(op);
    });
    for (graph::MatmulOp op : products)
      Centering(op).run();
  }
};

} // namespace
} // namespace tenon
