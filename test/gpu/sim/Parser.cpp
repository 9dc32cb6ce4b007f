//===- Parser.cpp - PTX text as a tree ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Syntax.h"
#include "test/gpu/sim/Text.h"

#include <cctype>
#include <cstdlib>
#include <cstring>

namespace tenon::sim {

namespace {

bool isWord(char c) {
  return isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' ||
         c == '%';
}

class Parser {
public:
  Parser(std::string_view text, ModuleText &module, std::string &error)
      : text(text), module(module), error(error) {}

  bool parse() {
    for (skip(); !atEnd() && error.empty(); skip())
      topLevel();
    return error.empty();
  }

private:
  std::string_view text;
  ModuleText &module;
  std::string &error;
  size_t at = 0;
  int line = 1, depth = 0;
  std::vector<Statement> *body = nullptr; // Where implicit-def comments go.

  bool atEnd() const { return at >= text.size(); }
  char peek() const { return atEnd() ? '\0' : text[at]; }

  bool fail(const std::string &why) {
    if (error.empty())
      error = format("line %d: ", line) + why;
    at = text.size();
    return false;
  }

  void comment(std::string_view content) {
    static constexpr std::string_view kImplicit = "implicit-def: ";
    size_t found = content.find(kImplicit);
    if (!body || found == std::string_view::npos)
      return;
    std::string_view name = content.substr(found + kImplicit.size());
    size_t length = 0;
    while (length < name.size() && isWord(name[length]))
      ++length;
    Statement done;
    done.kind = Statement::ImplicitlyDone;
    done.line = line;
    done.text = content;
    done.name = name.substr(0, length);
    body->push_back(done);
  }

  void skip() {
    while (!atEnd()) {
      char c = text[at];
      if (c == '\n')
        ++line;
      if (isspace(static_cast<unsigned char>(c))) {
        ++at;
      } else if (text.substr(at, 2) == "//") {
        size_t end = std::min(text.find('\n', at), text.size());
        comment(text.substr(at, end - at));
        at = end;
      } else if (text.substr(at, 2) == "/*") {
        size_t end = text.find("*/", at + 2);
        end = end == std::string_view::npos ? text.size() : end + 2;
        for (; at < end; ++at)
          line += text[at] == '\n';
      } else {
        return;
      }
    }
  }

  bool accept(char c) {
    skip();
    if (peek() != c)
      return false;
    ++at;
    return true;
  }
  bool expect(char c) { return accept(c) || fail(format("expected '%c'", c)); }

  /// Letters, digits, _ $ %, and what `extra` holds.
  std::string_view word(const char *extra = "") {
    skip();
    size_t start = at;
    while (!atEnd() && (isWord(text[at]) || strchr(extra, text[at])) &&
           text[at])
      ++at;
    return text.substr(start, at - start);
  }

  /// ".name"; empty and untouched when there is none.
  std::string_view directive() {
    skip();
    if (peek() != '.')
      return {};
    ++at;
    return word();
  }

  void restOfLine() {
    while (!atEnd() && text[at] != '\n')
      ++at;
  }
  void restOfStatement() {
    while (!atEnd() && text[at] != ';')
      line += text[at++] == '\n';
    accept(';');
  }

  bool number(Node &node);
  bool operand(Node &node);
  bool list(char close, std::vector<Node> &items);
  bool unsignedNumber(uint64_t &value) {
    Node node;
    skip();
    if (!number(node) || node.kind != Node::Integer)
      return fail("expected a number");
    value = node.value;
    return true;
  }

  bool variable(std::string_view space, VariableText &out);
  bool topLevel();
  bool function(bool entry);
  bool bounds(uint32_t (&values)[3]);
  bool statements(FunctionText &function);
  bool statement(FunctionText &function);
  bool bodyDirective(FunctionText &function);
  bool instruction(FunctionText &function, Statement &out);
  bool registers(Statement &out);
};

bool Parser::number(Node &node) {
  bool minus = accept('-');
  size_t start = at;
  std::string digits(word("."));
  if (digits.empty() || !isdigit(static_cast<unsigned char>(digits[0])))
    return fail("expected a number");
  char kind = digits.size() > 1 && digits[0] == '0' ? tolower(digits[1]) : 0;
  char *end = nullptr;
  node.kind = Node::Integer;
  if (kind == 'f' || kind == 'd') {
    node.kind = kind == 'f' ? Node::Float32 : Node::Float64;
    node.value = strtoull(digits.c_str() + 2, &end, 16);
  } else if (kind == 'b') {
    node.value = strtoull(digits.c_str() + 2, &end, 2);
  } else if (kind != 'x' && digits.find_first_of(".eE") != std::string::npos) {
    // An exponent's sign is no part of a word.
    double value = strtod(text.data() + start, &end);
    at = end - text.data();
    node.kind = Node::Float64;
    memcpy(&node.value, &value, 8);
    node.value ^= minus ? uint64_t(1) << 63 : 0;
    return true;
  } else {
    node.value = strtoull(digits.c_str(), &end, 0);
    if (*end == 'U' || *end == 'u')
      ++end;
  }
  if (*end)
    return fail("malformed number '" + digits + "'");
  if (minus)
    node.value = -node.value;
  return true;
}

bool Parser::list(char close, std::vector<Node> &items) {
  if (accept(close))
    return true;
  do {
    if (!operand(items.emplace_back()))
      return false;
  } while (accept(','));
  return expect(close);
}

bool Parser::operand(Node &node) {
  struct Depth {
    explicit Depth(int &depth) : depth(++depth) {}
    ~Depth() { --depth; }
    int &depth;
  } level(depth);
  if (depth > 16)
    return fail("nested too deeply");
  skip();
  if (accept('{') || peek() == '(') {
    node.kind = Node::List;
    bool brace = text[at - 1] == '{';
    if (!brace)
      ++at;
    return list(brace ? '}' : ')', node.items);
  }
  if (accept('[')) {
    node.kind = Node::Address;
    skip();
    Node base;
    if (!operand(base))
      return false;
    if (base.kind == Node::Integer)
      node.value = base.value;
    else if (base.kind == Node::Name)
      node.name = base.name;
    else
      return fail("an address begins with a name or a number");
    node.value += base.kind == Node::Name ? base.value : 0;
    if (accept(',') && !list(']', node.items))
      return false;
    return node.items.size() || expect(']');
  }
  if (accept('!')) {
    if (!operand(node))
      return false;
    node.negated = true;
    return true;
  }
  char c = peek();
  if (isdigit(static_cast<unsigned char>(c)) ||
      (c == '-' && at + 1 < text.size() &&
       isdigit(static_cast<unsigned char>(text[at + 1]))))
    return number(node);
  if (c == '-') {
    ++at;
    node.minus = true;
  }
  node.name = word(".");
  if (node.name.empty())
    return fail("expected an operand");
  if (node.name == "generic" && accept('(')) {
    // A variable's generic address: for .global the plain one.
    node.name = word();
    if (!expect(')'))
      return false;
  }
  node.kind = node.name == "_" ? Node::Sink : Node::Name;
  if (accept('|')) {
    Node first = node;
    node = Node();
    node.kind = Node::Pair;
    node.items.push_back(first);
    return operand(node.items.emplace_back());
  }
  for (skip(); peek() == '+' || peek() == '-'; skip()) { // name+4, name+-4
    bool minus = text[at++] == '-';
    Node offset;
    skip();
    if (!number(offset))
      return false;
    node.value += minus ? -offset.value : offset.value;
  }
  return true;
}

bool Parser::variable(std::string_view space, VariableText &out) {
  out.space = space;
  out.line = line;
  for (std::string_view part = directive(); !part.empty(); part = directive()) {
    uint64_t value = 0;
    if (part == "align") {
      if (!unsignedNumber(value))
        return false;
      out.alignment = value;
    } else if (part != "ptr" && part != "global" && part != "const" &&
               part != "shared" && part != "local" && part != "attribute") {
      out.type = part;
    } else if (part == "attribute") {
      restOfLine();
      return fail("attributes of variables are not simulated");
    }
  }
  out.name = word();
  if (out.name.empty())
    return fail("expected a variable's name");
  while (accept('[')) {
    uint64_t count = 0;
    if (!accept(']') && (!unsignedNumber(count) || !expect(']')))
      return false;
    if (count > UINT32_MAX || out.count > UINT32_MAX)
      return fail("an array that is too large");
    out.count *= count;
  }
  if (!accept('='))
    return true;
  Node value;
  if (!operand(value))
    return false;
  if (value.kind == Node::List)
    out.initializer = std::move(value.items);
  else
    out.initializer.push_back(std::move(value));
  return true;
}

bool Parser::bounds(uint32_t (&values)[3]) {
  values[0] = values[1] = values[2] = 1;
  for (int i = 0; i < 3; ++i) {
    uint64_t value = 0;
    if (!unsignedNumber(value))
      return false;
    values[i] = value;
    if (!accept(','))
      break;
  }
  return true;
}

bool Parser::topLevel() {
  std::string_view first = directive();
  bool external = false;
  while (first == "visible" || first == "extern" || first == "weak" ||
         first == "common") {
    external |= first == "extern";
    first = directive();
  }
  if (first == "version" || first == "target" || first == "address_size" ||
      first == "file" || first == "loc" || first == "alias" ||
      first == "pragma")
    return restOfLine(), true;
  if (first == "section") { // Debugging information.
    while (!atEnd() && peek() != '{')
      line += text[at++] == '\n';
    while (!atEnd() && peek() != '}')
      line += text[at++] == '\n';
    return expect('}');
  }
  if (first == "entry" || first == "func")
    return function(first == "entry");
  if (first == "global" || first == "const" || first == "shared") {
    VariableText &added = module.variables.emplace_back();
    added.external = external;
    return variable(first, added) && expect(';');
  }
  return fail("not understood at this place: '" +
              std::string(text.substr(at, 20)) + "'");
}

bool Parser::function(bool entry) {
  FunctionText &added = module.functions.emplace_back();
  added.entry = entry;
  added.line = line;
  auto formals = [&](std::vector<VariableText> &out) {
    if (!accept('(') || accept(')'))
      return true;
    do {
      std::string_view space = directive();
      if (space != "param" && space != "reg")
        return fail("expected .param");
      if (!variable(space, out.emplace_back()))
        return false;
    } while (accept(','));
    return expect(')');
  };
  if (!entry) {
    skip();
    if (peek() == '(' && !formals(added.results))
      return false;
  }
  added.name = word();
  if (!formals(added.parameters))
    return false;
  for (std::string_view part = directive(); !part.empty(); part = directive()) {
    uint64_t ignored = 0;
    bool good = true;
    if (part == "maxntid")
      good = bounds(added.maxThreads);
    else if (part == "reqntid")
      good = bounds(added.requiredThreads);
    else if (part == "reqnctapercluster")
      good = bounds(added.requiredCluster);
    else if (part == "minnctapersm" || part == "maxnreg" ||
             part == "maxclusterrank")
      good = unsignedNumber(ignored);
    else if (part == "pragma")
      restOfStatement();
    else if (part != "explicitcluster" && part != "noreturn")
      return fail("unknown directive ." + std::string(part));
    if (!good)
      return false;
  }
  if (accept(';'))
    return true;
  added.hasBody = true;
  return expect('{') && statements(added);
}

bool Parser::statements(FunctionText &function) {
  int depth = 1;
  body = &function.body;
  while (error.empty()) {
    skip();
    if (atEnd())
      return fail("the function's '}' is missing");
    if (peek() == '{' || peek() == '}') {
      bool open = text[at++] == '{';
      depth += open ? 1 : -1;
      if (depth == 0)
        break;
      Statement &brace = function.body.emplace_back();
      brace.kind = open ? Statement::Open : Statement::Close;
      brace.line = line;
    } else if (!accept(';')) {
      statement(function);
    }
  }
  body = nullptr;
  return error.empty();
}

bool Parser::statement(FunctionText &function) {
  if (peek() == '.')
    return bodyDirective(function);
  size_t start = at;
  Statement out;
  out.line = line;
  if (peek() != '@') {
    std::string_view label = word();
    if (peek() == ':' && text.substr(at, 2) != "::") {
      ++at;
      out.kind = Statement::Label;
      out.name = label;
      skip();
      if (text.substr(at).starts_with(".branchtargets")) {
        at += strlen(".branchtargets");
        out.kind = Statement::Targets;
        return list(';', out.operands) &&
               (function.body.push_back(std::move(out)), true);
      }
      function.body.push_back(std::move(out));
      return true;
    }
    at = start;
  }
  if (!instruction(function, out))
    return false;
  out.text = text.substr(start, at - start);
  function.body.push_back(std::move(out));
  return true;
}

bool Parser::instruction(FunctionText &function, Statement &out) {
  if (accept('@')) {
    out.guardNegated = accept('!');
    out.guard = word();
  }
  out.name = word(".:");
  if (out.name.empty())
    return fail("expected an instruction");
  body = nullptr; // No statement begins in the middle of one.
  bool good = list(';', out.operands);
  body = &function.body;
  return good;
}

bool Parser::bodyDirective(FunctionText &function) {
  std::string_view first = directive();
  if (first == "reg") {
    Statement out;
    return registers(out) && (function.body.push_back(std::move(out)), true);
  }
  if (first == "loc" || first == "file")
    return restOfLine(), true;
  if (first == "pragma")
    return restOfStatement(), true;
  if (first != "local" && first != "shared" && first != "param" &&
      first != "const" && first != "global")
    return fail("unknown directive ." + std::string(first));
  Statement out;
  out.kind = Statement::Variable;
  out.line = line;
  out.variable = function.variables.size();
  if (!variable(first, function.variables.emplace_back()) || !expect(';'))
    return false;
  function.body.push_back(std::move(out));
  return true;
}

bool Parser::registers(Statement &out) {
  out.kind = Statement::Registers;
  out.line = line;
  out.name = directive();
  do {
    Node &node = out.operands.emplace_back();
    node.kind = Node::Name;
    node.name = word();
    if (accept('<') && (!unsignedNumber(node.value) || !expect('>')))
      return false;
  } while (accept(','));
  return expect(';');
}

} // namespace

bool parseText(std::string_view text, ModuleText &module, std::string &error) {
  return Parser(text, module, error).parse();
}

} // namespace tenon::sim
