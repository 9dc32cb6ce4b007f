//===- GraphDialect.cpp - Attributes, text form and registration ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Graph/Graph.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FoldInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

#include "dialects/Graph/GraphDialect.cpp.inc"
#include "dialects/Graph/GraphEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Graph/GraphAttrs.cpp.inc"

using namespace mlir;

namespace tenon::graph {

namespace {
/// Sizes that name a loop's step are no constants outside of its body.
struct FoldsInLoops : DialectFoldInterface {
  using DialectFoldInterface::DialectFoldInterface;

  bool shouldMaterializeInto(Region *region) const final {
    return isa<LoopOp>(region->getParentOp());
  }
};
} // namespace

void GraphDialect::initialize() {
  addInterfaces<FoldsInLoops>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Graph/GraphAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Graph/GraphOps.cpp.inc"
      >();
}

Operation *GraphDialect::materializeConstant(OpBuilder &builder,
                                             Attribute value, Type type,
                                             Location loc) {
  if (auto sizes = dyn_cast<DimsAttr>(value))
    return SizesOp::create(builder, loc, type, sizes);
  if (auto elements = dyn_cast<ElementsAttr>(value))
    return ConstantOp::create(builder, loc, type, elements);
  return nullptr;
}

namespace {

/// How deep parentheses may nest in the text of an expression.
constexpr unsigned maxTextDepth = 64;

FailureOr<Expr> parseSum(AsmParser &parser, unsigned depth);

FailureOr<Expr> parseCall(AsmParser &parser, StringRef function,
                          unsigned depth) {
  FailureOr<Expr> lhs = parseSum(parser, depth);
  if (failed(lhs) || parser.parseComma())
    return failure();
  FailureOr<Expr> rhs = parseSum(parser, depth);
  if (failed(rhs) || parser.parseRParen())
    return failure();
  if (function == "floordiv")
    return lhs->floorDiv(*rhs);
  if (function == "mod")
    return lhs->mod(*rhs);
  if (function == "min")
    return lhs->min(*rhs);
  if (function == "max")
    return lhs->max(*rhs);
  if (function == "broadcast")
    return lhs->broadcast(*rhs);
  return parser.emitError(parser.getCurrentLocation())
         << "unknown size function '" << function << "'";
}

FailureOr<Expr> parseFactor(AsmParser &parser, unsigned depth) {
  if (depth > maxTextDepth)
    return parser.emitError(parser.getCurrentLocation(),
                            "size expression is nested too deeply");
  int64_t number;
  OptionalParseResult parsed = parser.parseOptionalInteger(number);
  if (parsed.has_value())
    return failed(*parsed)
               ? FailureOr<Expr>(failure())
               : FailureOr<Expr>(Expr::constant(parser.getContext(), number));
  if (succeeded(parser.parseOptionalLParen())) {
    FailureOr<Expr> inner = parseSum(parser, depth + 1);
    if (failed(inner) || parser.parseRParen())
      return failure();
    return inner;
  }
  StringRef name;
  if (parser.parseKeyword(&name))
    return failure();
  std::string word = name.str();
  if (failed(parser.parseOptionalLParen()))
    return Expr::symbol(parser.getContext(), word);
  if (word != "signed")
    return parseCall(parser, word, depth + 1);
  if (parser.parseKeyword(&name))
    return failure();
  Expr symbol = Expr::symbol(parser.getContext(), name, true);
  if (parser.parseRParen())
    return failure();
  return symbol;
}

FailureOr<Expr> parseProduct(AsmParser &parser, unsigned depth) {
  FailureOr<Expr> result = parseFactor(parser, depth);
  while (succeeded(result) && succeeded(parser.parseOptionalStar())) {
    FailureOr<Expr> factor = parseFactor(parser, depth);
    if (failed(factor))
      return failure();
    result = *result * *factor;
  }
  return result;
}

FailureOr<Expr> parseSum(AsmParser &parser, unsigned depth) {
  FailureOr<Expr> result = parseProduct(parser, depth);
  while (succeeded(result) && succeeded(parser.parseOptionalPlus())) {
    FailureOr<Expr> term = parseProduct(parser, depth);
    if (failed(term))
      return failure();
    result = *result + *term;
  }
  if (succeeded(result) && !*result)
    return parser.emitError(parser.getCurrentLocation(),
                            "size expression overflows or divides by zero");
  return result;
}

} // namespace

Attribute ExprAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<Expr> expr = parseSum(parser, 0);
  if (failed(expr) || parser.parseGreater())
    return {};
  return expr->getAttr();
}

void ExprAttr::print(AsmPrinter &printer) const {
  printer << "<" << Expr(*this).str() << ">";
}

Attribute DimsAttr::parse(AsmParser &parser, Type) {
  SmallVector<Expr> exprs;
  auto parseOne = [&]() -> ParseResult {
    FailureOr<Expr> expr = parseSum(parser, 0);
    if (failed(expr))
      return failure();
    exprs.push_back(*expr);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseOne))
    return {};
  return get(parser.getContext(), exprs);
}

void DimsAttr::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::interleaveComma(exprs(), printer,
                        [&](Expr expr) { printer << expr.str(); });
  printer << ">";
}

DimsAttr DimsAttr::get(MLIRContext *context, ArrayRef<Expr> exprs) {
  SmallVector<Attribute> attrs;
  for (Expr expr : exprs)
    attrs.push_back(expr.getAttr());
  return get(context, ArrayRef<Attribute>(attrs));
}

SmallVector<Expr> DimsAttr::exprs() const {
  SmallVector<Expr> result;
  for (Attribute attr : getAttrs())
    result.push_back(Expr(attr));
  return result;
}

LogicalResult DimsAttr::verifyEncoding(
    ArrayRef<int64_t> shape, Type,
    llvm::function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != size())
    return emitError() << "a tensor of rank " << shape.size() << " has "
                       << size() << " sizes";
  for (size_t i = 0; i < shape.size(); ++i) {
    std::optional<int64_t> number = (*this)[i].asConstant();
    if (number.value_or(ShapedType::kDynamic) != shape[i])
      return emitError() << "axis " << i << " of the type and of its sizes "
                         << "differ";
  }
  return success();
}

} // namespace tenon::graph
