//===- DimNames.cpp - Symbols for the named dims of a model ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/DimNames.h"
#include "compiler/Import/Import.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace tenon {
namespace {

using graph::Expr;

bool isNameChar(char c) { return isAlnum(c) || c == '_' || c == '.'; }

bool isPlainName(StringRef text) {
  return !text.empty() && !isDigit(text.front()) && all_of(text, isNameChar);
}

/// sum := product (('+' | '-') product)*
/// product := atom (('*' | '//') atom)*
/// atom := number | name | '(' sum ')' | ('max' | 'min') '(' sum ',' sum ')'
class FormulaParser {
public:
  FormulaParser(StringRef text, mlir::MLIRContext *context,
                function_ref<Expr(StringRef)> nameOf)
      : text(text), context(context), nameOf(nameOf) {}

  /// Null when the text is no formula.
  Expr parse() {
    Expr result = sum(0);
    skip();
    return text.empty() ? result : Expr();
  }

private:
  static constexpr int maxDepth = 16;

  void skip() { text = text.ltrim(); }
  bool eat(StringRef token) {
    skip();
    return text.consume_front(token);
  }

  Expr sum(int depth) {
    Expr result = product(depth);
    while (result) {
      if (eat("+"))
        result = result + product(depth);
      else if (eat("-"))
        result = result - product(depth);
      else
        break;
    }
    return result;
  }

  Expr product(int depth) {
    Expr result = atom(depth);
    while (result) {
      if (eat("//"))
        result = result.floorDiv(atom(depth));
      else if (eat("*"))
        result = result * atom(depth);
      else
        break;
    }
    return result;
  }

  Expr atom(int depth) {
    if (depth > maxDepth)
      return {};
    if (eat("(")) {
      Expr inner = sum(depth + 1);
      return eat(")") ? inner : Expr();
    }
    skip();
    StringRef word = text.take_while(isNameChar);
    text = text.drop_front(word.size());
    int64_t number;
    if (word.empty())
      return {};
    if (isDigit(word.front()))
      return word.getAsInteger(10, number) ? Expr()
                                           : Expr::constant(context, number);
    bool isMax = word.equals_insensitive("max");
    if ((isMax || word.equals_insensitive("min")) && eat("(")) {
      Expr lhs = sum(depth + 1);
      Expr rhs = eat(",") ? sum(depth + 1) : Expr();
      if (!lhs || !rhs || !eat(")"))
        return {};
      return isMax ? lhs.max(rhs) : lhs.min(rhs);
    }
    return nameOf(word);
  }

  StringRef text;
  mlir::MLIRContext *context;
  function_ref<Expr(StringRef)> nameOf;
};

bool isMeaningless(StringRef text) {
  return text.empty() || text == "?" || text == "None" || text == "-1";
}

} // namespace

void DimNames::announce(StringRef text) {
  text = text.trim();
  if (isPlainName(text))
    symbols.try_emplace(text);
}

Expr DimNames::made(StringRef name) {
  auto number = fixed.find(name);
  return number == fixed.end()
             ? Expr::symbol(state.context, state.uniqueSymbol(name))
             : Expr::constant(state.context, number->second);
}

Expr DimNames::named(StringRef text) {
  text = meantDim(same, text).value_or(text);
  Expr &symbol = symbols[text];
  if (!symbol)
    symbol = made(text);
  return symbol;
}

Expr DimNames::get(StringRef text, StringRef hint) {
  text = text.trim();
  if (isMeaningless(text))
    return made(hint);
  if (symbols.contains(text) || fixed.contains(text) || same.contains(text))
    return named(text);
  auto known = [&](StringRef name) {
    return symbols.contains(name) || same.contains(name) ? named(name) : Expr();
  };
  if (Expr formula = FormulaParser(text, state.context, known).parse();
      formula && !formula.asConstant())
    return formula;
  return named(text);
}

} // namespace tenon
