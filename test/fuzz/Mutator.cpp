//===- Mutator.cpp - Seeded damage to ONNX models -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/fuzz/Mutator.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

using namespace tenon::fuzz;

uint64_t Random::next() {
  uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// How often a field is chosen: most where converters look, seldom where a
/// model is refused at once or nothing changes.
static size_t weightOf(const std::string &field) {
  for (const char *part :
       {"doc_string", "metadata", "denotation", "producer", "ModelProto",
        "GraphProto.input", "GraphProto.output", "GraphProto.name",
        "OperatorSetId", "NodeProto.name", "ValueInfoProto.name",
        "TensorProto.name", "AttributeProto.name", "AttributeProto.type"})
    if (field.find(part) != std::string::npos)
      return 1;
  for (const char *part : {"AttributeProto.i", "AttributeProto.f", "dim_",
                           "NodeProto.input", "_data", "TensorProto.dims"})
    if (field.find(part) != std::string::npos)
      return 24;
  return 8;
}

void Mutator::collect(Message &message) {
  const auto *type = message.GetDescriptor();
  const auto *reflection = message.GetReflection();
  for (int i = 0; i < type->field_count(); ++i) {
    const Field *field = type->field(i);
    bool isMessage = field->cpp_type() == Field::CPPTYPE_MESSAGE;
    int count = field->is_repeated() ? reflection->FieldSize(message, field)
                                     : reflection->HasField(message, field);
    // Few fields are set; now and then one that is not becomes so.
    if (count == 0 && random.below(field->name() == "dim_param" ? 2 : 64))
      continue;
    sites.push_back({&message, field});
    if (field->cpp_type() == Field::CPPTYPE_STRING &&
        field->name().find("put") != std::string::npos)
      for (int j = 0; j < count && field->is_repeated(); ++j)
        names.push_back(reflection->GetRepeatedString(message, field, j));
    for (int j = 0; isMessage && j < count; ++j)
      collect(field->is_repeated()
                  ? *reflection->MutableRepeatedMessage(&message, field, j)
                  : *reflection->MutableMessage(&message, field));
  }
}

int64_t Mutator::integer(int64_t old) {
  constexpr int64_t lo = std::numeric_limits<int64_t>::min();
  constexpr int64_t hi = std::numeric_limits<int64_t>::max();
  const int64_t values[] = {0,
                            1,
                            -1,
                            2,
                            3,
                            -2,
                            7,
                            16,
                            255,
                            1000,
                            int64_t(1) << 20,
                            std::numeric_limits<int32_t>::max(),
                            std::numeric_limits<int32_t>::min(),
                            int64_t(1) << 32,
                            int64_t(1) << 40,
                            int64_t(1) << 62,
                            hi,
                            lo};
  switch (random.below(4)) {
  case 0:
    return int64_t(uint64_t(old) + (random.below(2) ? 1 : -1));
  case 1:
    return int64_t(0 - uint64_t(old));
  case 2:
    return int64_t(random.below(32));
  default:
    return random.pick(values);
  }
}

double Mutator::real() {
  const double values[] = {0.0,  -0.0,   1.0,      -1.0,   0.5, 1e-30,
                           1e30, 1e-320, INFINITY, -1e308, NAN, 1e9};
  return random.pick(values);
}

std::string Mutator::text(const Field *field, const std::string &old) {
  if (field->name() == "op_type" && !operators.empty())
    return random.pick(operators);
  const std::string odd[] = {"",          std::string("a\0b", 3),
                             "\x1b[2J",   "%s%n",
                             "\xff\xfe",  "../x",
                             "ai.onnx",   "com.microsoft",
                             "N",         "N + 1",
                             "9 * N",     "ij,jk->ik",
                             "SAME_UPPER"};
  switch (random.below(4)) {
  case 0:
    return random.pick(odd);
  case 1: {
    std::string changed = old;
    if (!changed.empty())
      changed[random.below(changed.size())] = char(random.below(256));
    return changed;
  }
  default:
    return names.empty() ? old : random.pick(names);
  }
}

void Mutator::setScalar(Site site, int index) {
  const auto *r = site.message->GetReflection();
  const Field *f = site.field;
  Message *m = site.message;
#define SET(NAME, VALUE)                                                       \
  (index < 0 ? r->Set##NAME(m, f, VALUE)                                       \
             : r->SetRepeated##NAME(m, f, index, VALUE))
#define GET(NAME)                                                              \
  (index < 0 ? r->Get##NAME(*m, f) : r->GetRepeated##NAME(*m, f, index))
  switch (f->cpp_type()) {
  case Field::CPPTYPE_INT32:
    return SET(Int32, int32_t(integer(GET(Int32))));
  case Field::CPPTYPE_INT64:
    return SET(Int64, integer(GET(Int64)));
  case Field::CPPTYPE_UINT32:
    return SET(UInt32, uint32_t(integer(GET(UInt32))));
  case Field::CPPTYPE_UINT64:
    return SET(UInt64, uint64_t(integer(int64_t(GET(UInt64)))));
  case Field::CPPTYPE_FLOAT:
    return SET(Float, float(real()));
  case Field::CPPTYPE_DOUBLE:
    return SET(Double, real());
  case Field::CPPTYPE_BOOL:
    return SET(Bool, !GET(Bool));
  case Field::CPPTYPE_ENUM:
    return SET(EnumValue, int(random.below(20)));
  case Field::CPPTYPE_STRING: {
    std::string old = GET(String);
    // Bytes of a tensor: another length is the interesting change.
    if (f->type() == Field::TYPE_BYTES && random.below(2))
      old.resize(random.below(2) ? old.size() / 2 : old.size() + 1);
    else if (f->type() == Field::TYPE_BYTES && old.size() > 3)
      old[random.below(old.size())] = char(random.below(256));
    else
      old = text(f, old);
    return SET(String, old);
  }
  case Field::CPPTYPE_MESSAGE:
    return;
  }
#undef SET
#undef GET
}

std::string Mutator::mutateScalar(Site site) {
  const auto *reflection = site.message->GetReflection();
  Message *message = site.message;
  const Field *field = site.field;
  if (!field->is_repeated()) {
    if (random.below(5) == 0 && reflection->HasField(*message, field)) {
      reflection->ClearField(message, field);
      return "cleared";
    }
    setScalar(site, -1);
    return "set";
  }
  int size = reflection->FieldSize(*message, field);
  uint64_t step = random.below(6);
  if (step == 0 && size) {
    reflection->RemoveLast(message, field);
    return "last removed";
  }
  if (step == 1 || size == 0) {
    switch (field->cpp_type()) {
    case Field::CPPTYPE_INT64:
      reflection->AddInt64(message, field, integer(1));
      break;
    case Field::CPPTYPE_INT32:
      reflection->AddInt32(message, field, int32_t(integer(1)));
      break;
    case Field::CPPTYPE_FLOAT:
      reflection->AddFloat(message, field, float(real()));
      break;
    case Field::CPPTYPE_STRING:
      reflection->AddString(message, field, text(field, "x"));
      break;
    default:
      break;
    }
    return "one more";
  }
  int at = int(random.below(uint64_t(size)));
  if (step == 2) {
    reflection->SwapElements(message, field, at,
                             int(random.below(uint64_t(size))));
    return "elements swapped";
  }
  setScalar(site, at);
  return "element " + std::to_string(at) + " set";
}

std::string Mutator::mutateMessages(Site site) {
  const auto *reflection = site.message->GetReflection();
  Message *message = site.message;
  const Field *field = site.field;
  // A copy of a message of the same type from elsewhere in the model.
  std::vector<const Message *> donors;
  for (const Site &other : sites)
    if (other.message->GetDescriptor() == field->message_type())
      donors.push_back(other.message);
  std::unique_ptr<Message> donor;
  if (!donors.empty()) {
    const Message *chosen = random.pick(donors);
    donor.reset(chosen->New());
    donor->CopyFrom(*chosen);
  }
  bool copy = donor && random.below(2);
  if (!field->is_repeated()) {
    if (copy)
      reflection->MutableMessage(message, field)->CopyFrom(*donor);
    else
      reflection->ClearField(message, field);
    return copy ? "copied from elsewhere" : "cleared";
  }
  int size = reflection->FieldSize(*message, field);
  int at = size ? int(random.below(uint64_t(size))) : 0;
  if (copy && (size == 0 || random.below(2))) {
    reflection->AddMessage(message, field)->CopyFrom(*donor);
    return "one more, from elsewhere";
  }
  if (size == 0)
    return "left alone";
  if (copy) {
    reflection->MutableRepeatedMessage(message, field, at)->CopyFrom(*donor);
    return "element " + std::to_string(at) + " from elsewhere";
  }
  reflection->SwapElements(message, field, at, size - 1);
  if (random.below(2))
    return "elements swapped";
  reflection->RemoveLast(message, field);
  return "element " + std::to_string(at) + " removed";
}

std::string Mutator::mutateSite(Site site) {
  std::string what = site.field->cpp_type() == Field::CPPTYPE_MESSAGE
                         ? mutateMessages(site)
                         : mutateScalar(site);
  return std::string(site.field->full_name()) + ": " + what;
}

std::string Mutator::mutate() {
  std::string done;
  for (uint64_t left = 1 + random.below(3); left; --left) {
    sites.clear();
    names.clear();
    collect(model);
    // First the field, then the place: a model has far more names than axes.
    std::map<std::string, std::vector<Site>> byField;
    for (const Site &site : sites)
      byField[std::string(site.field->full_name())].push_back(site);
    std::vector<const std::vector<Site> *> choices;
    for (auto &[name, places] : byField)
      choices.insert(choices.end(), weightOf(name), &places);
    Site site = random.pick(*random.pick(choices));
    done += (done.empty() ? "" : "; ") + mutateSite(site);
  }
  return done;
}

std::string tenon::fuzz::mutateBytes(std::string &bytes, Random &random) {
  if (bytes.empty())
    return "empty";
  size_t at = random.below(bytes.size());
  std::string where = " at byte " + std::to_string(at);
  switch (random.below(5)) {
  case 0:
    bytes.resize(at);
    return "cut off" + where;
  case 1:
    bytes.insert(at, 1 + random.below(4), char(random.below(256)));
    return "bytes inserted" + where;
  case 2:
    bytes.erase(at, 1 + random.below(4));
    return "bytes dropped" + where;
  case 3:
    bytes[at] ^= char(1 << random.below(8));
    return "bit flipped" + where;
  default:
    bytes[at] = char(random.below(256));
    return "byte set" + where;
  }
}
