//===- PrecisionPlan.cpp - Which op multiplies in which precision ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/PrecisionPlan.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

namespace tenon {
namespace {

struct NamedPrecision {
  Precision precision;
  llvm::StringLiteral name;
};
constexpr NamedPrecision names[] = {
    {Precision::Fp32, "fp32"},
    {Precision::Bf16, "bf16"},
    {Precision::Fp16, "fp16"},
    {Precision::Int8, "int8"},
    {Precision::Int8Weights, "int8-weights"},
    {Precision::Int4Weights, "int4-weights"},
};

struct NamedCacheType {
  CacheType type;
  llvm::StringLiteral name;
};
constexpr NamedCacheType cacheTypes[] = {
    {CacheType::AsGiven, ""},  {CacheType::F32, "f32"},
    {CacheType::F16, "f16"},   {CacheType::Bf16, "bf16"},
    {CacheType::Int8, "int8"},
};

constexpr int64_t formatVersion = 1;
/// A line for each op of a model of a million nodes is less.
constexpr uint64_t largestFile = uint64_t(256) << 20;

llvm::Error badRow(const llvm::Twine &text) {
  return llvm::createStringError(text);
}

/// What a row says of its lhs, if anything.
llvm::Expected<std::optional<StaticLhs>>
readLhs(const llvm::json::Object &object, llvm::StringRef op,
        Precision precision) {
  const llvm::json::Array *shifts = object.getArray("shifts");
  if (!object.get("scale") && !object.get("zero") && !object.get("shifts"))
    return std::nullopt;
  if (precision != Precision::Int8)
    return badRow("op '" + op + "' has a scale, but is not int8");
  auto scale = object.getNumber("scale");
  auto zero = object.getInteger("zero");
  StaticLhs lhs;
  lhs.scale = float(scale.value_or(0));
  lhs.zero = zero.value_or(-1);
  if (!std::isnormal(lhs.scale) || lhs.scale < 0)
    return badRow("op '" + op + "' needs a positive number \"scale\"");
  if (lhs.zero < 0 || lhs.zero > 255)
    return badRow("op '" + op + "' needs an integer \"zero\" from 0 to 255");
  if (object.get("shifts") && !shifts)
    return badRow("op '" + op + "': \"shifts\" is no array");
  for (const llvm::json::Value &each : shifts ? *shifts : llvm::json::Array()) {
    int64_t shift = each.getAsInteger().value_or(mostShift + 1);
    if (std::abs(shift) > mostShift)
      return badRow("op '" + op + "': \"shifts\" are integers from -31 to 31");
    lhs.shifts.push_back(int8_t(shift));
  }
  return lhs;
}

/// The block that a row asks for, or the one by default.
llvm::Expected<int64_t> readBlock(const llvm::json::Object &object,
                                  llvm::StringRef op, Precision precision) {
  if (!object.get("block"))
    return defaultBlock;
  if (!isOfFewBits(precision))
    return badRow("op '" + op +
                  "' has a block, but is neither int8-weights nor "
                  "int4-weights");
  int64_t block = object.getInteger("block").value_or(0);
  if (!isBlock(block))
    return badRow("op '" + op + "': \"block\" is a multiple of " +
                  llvm::Twine(blockStep) + ", " + llvm::Twine(largestBlock) +
                  " at most");
  return block;
}

llvm::Expected<bool> readCompensated(const llvm::json::Object &object,
                                     llvm::StringRef op, Precision precision) {
  if (!object.get("compensated"))
    return false;
  std::optional<bool> compensated = object.getBoolean("compensated");
  if (!compensated)
    return badRow("op '" + op + "': \"compensated\" is true or false");
  if (*compensated && !isOfFewBits(precision))
    return badRow("op '" + op +
                  "' is compensated, but is neither int8-weights nor "
                  "int4-weights");
  return *compensated;
}

/// One op of the file, or why it is none.
llvm::Expected<OpPrecision> readRow(const llvm::json::Value &value) {
  const llvm::json::Object *object = value.getAsObject();
  if (!object)
    return badRow("an element of \"ops\" is no object");
  auto op = object->getString("op"), precision = object->getString("precision");
  if (!op)
    return badRow("an element of \"ops\" has no string \"op\"");
  if (!precision)
    return badRow("op '" + *op + "' has no string \"precision\"");
  std::optional<Precision> known = findPrecision(*precision);
  if (!known)
    return badRow("op '" + *op + "': there is no precision '" + *precision +
                  "'; say one of " + precisionNames());
  OpPrecision row;
  row.op = op->str();
  row.kind = object->getString("kind").value_or("").str();
  row.precision = *known;
  row.error = object->getNumber("error");
  auto lhs = readLhs(*object, *op, *known);
  if (!lhs)
    return lhs.takeError();
  row.lhs = std::move(*lhs);
  auto block = readBlock(*object, *op, *known);
  if (!block)
    return block.takeError();
  row.block = *block;
  auto compensated = readCompensated(*object, *op, *known);
  if (!compensated)
    return compensated.takeError();
  row.compensated = *compensated;
  return row;
}

void writeLhs(llvm::json::OStream &line, const StaticLhs &lhs) {
  line.attribute("scale", double(lhs.scale));
  line.attribute("zero", lhs.zero);
  if (!lhs.shifts.empty())
    line.attributeArray("shifts", [&] {
      for (int8_t shift : lhs.shifts)
        line.value(int64_t(shift));
    });
}

llvm::Expected<PrecisionPlan> parse(llvm::StringRef text) {
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(text);
  if (!json)
    return json.takeError();
  const llvm::json::Object *object = json->getAsObject();
  if (!object || object->getInteger("format") != formatVersion)
    return llvm::createStringError("this is no precision plan of format 1");
  const llvm::json::Array *ops = object->getArray("ops");
  if (!ops)
    return llvm::createStringError("the plan has no array \"ops\"");
  PrecisionPlan plan;
  llvm::StringSet<> seen;
  for (const llvm::json::Value &value : *ops) {
    llvm::Expected<OpPrecision> row = readRow(value);
    if (!row)
      return row.takeError();
    if (!seen.insert(row->op + '\n' + row->kind).second)
      return llvm::createStringError("op '" + row->op + "' is there twice");
    plan.ops.push_back(std::move(*row));
  }
  return plan;
}

} // namespace

llvm::StringRef nameOf(Precision precision) {
  return llvm::find_if(names,
                       [&](const NamedPrecision &each) {
                         return each.precision == precision;
                       })
      ->name;
}

std::optional<Precision> findPrecision(llvm::StringRef name) {
  for (const NamedPrecision &each : names)
    if (each.name == name)
      return each.precision;
  return std::nullopt;
}

llvm::StringRef nameOf(CacheType type) {
  return llvm::find_if(
             cacheTypes,
             [&](const NamedCacheType &each) { return each.type == type; })
      ->name;
}

std::optional<CacheType> findCacheType(llvm::StringRef name) {
  for (const NamedCacheType &each : cacheTypes)
    if (each.name == name)
      return each.type;
  return std::nullopt;
}

bool isOfFewBits(Precision precision) {
  return precision == Precision::Int8Weights ||
         precision == Precision::Int4Weights;
}

std::string precisionNames() {
  return llvm::join(
      llvm::map_range(
          names, [](const NamedPrecision &each) { return each.name.str(); }),
      ", ");
}

bool PrecisionPlan::uses(Precision precision) const {
  return llvm::any_of(ops, [&](const OpPrecision &each) {
    return each.precision == precision;
  });
}

size_t PrecisionPlan::countCompensated() const {
  return size_t(llvm::count_if(
      ops, [](const OpPrecision &each) { return each.compensated; }));
}

llvm::Expected<PrecisionPlan> readPrecisionPlan(const std::string &path) {
  auto fail = [&](const llvm::Twine &text) {
    return llvm::createStringError("precision plan " + path + ": " + text);
  };
  uint64_t size = 0;
  if (std::error_code error = llvm::sys::fs::file_size(path, size))
    return fail(error.message());
  if (size > largestFile)
    return fail("the file is too large");
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return fail(buffer.getError().message());
  llvm::Expected<PrecisionPlan> plan = parse((*buffer)->getBuffer());
  if (!plan)
    return fail(llvm::toString(plan.takeError()));
  return plan;
}

llvm::Error writePrecisionPlan(const PrecisionPlan &plan,
                               const std::string &path) {
  std::error_code error;
  llvm::raw_fd_ostream os(path, error);
  if (error)
    return llvm::createStringError("cannot write " + path + ": " +
                                   error.message());
  os << "{\"format\": " << formatVersion << ", \"ops\": [";
  llvm::StringRef separator = "\n";
  for (const OpPrecision &row : plan.ops) {
    llvm::json::OStream line(os << separator);
    line.object([&] {
      line.attribute("op", llvm::json::fixUTF8(row.op));
      line.attribute("kind", row.kind);
      line.attribute("precision", nameOf(row.precision));
      if (row.error && std::isfinite(*row.error))
        line.attribute("error", *row.error);
      if (row.lhs)
        writeLhs(line, *row.lhs);
      if (row.block != defaultBlock)
        line.attribute("block", row.block);
      if (row.compensated)
        line.attribute("compensated", true);
    });
    separator = ",\n";
  }
  os << "\n]}\n";
  os.close();
  if (!os.has_error())
    return llvm::Error::success();
  std::string reason = os.error().message();
  os.clear_error();
  return llvm::createStringError("cannot write " + path + ": " + reason);
}

} // namespace tenon
