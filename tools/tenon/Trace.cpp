//===- Trace.cpp - Runs as a Chrome trace ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/Trace.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace tenon;
namespace json = llvm::json;

Trace::Trace(tenon_model_t *model, tenon_session_t *session)
    : model(model), session(session) {
  tenon_session_set_observer(session, observe, this);
}

Trace::~Trace() { tenon_session_set_observer(session, nullptr, nullptr); }

void Trace::observe(void *self, const tenon_launch_t *launch) {
  Event event = {};
  for (uint32_t i = 0; i < launch->node_count; ++i)
    if (std::string node = launch->nodes[i]; !node.empty())
      event.nodes.push_back(json::fixUTF8(node));
  event.name = event.nodes.empty() ? launch->kernel_name : event.nodes.front();
  if (event.nodes.size() > 1)
    event.name += " +" + std::to_string(event.nodes.size() - 1);
  event.kernel = launch->kernel;
  event.pieces = launch->pieces;
  event.rows = launch->rows;
  event.flops = launch->flops;
  event.bytes = launch->bytes < 0 ? -1 : launch->bytes + launch->weight_bytes;
  event.start = launch->start;
  event.nanoseconds = launch->nanoseconds;
  static_cast<Trace *>(self)->events.push_back(std::move(event));
}

void Trace::endRun() { runEnds.push_back(events.size()); }

void Trace::clear() {
  events.clear();
  runEnds.clear();
}

/// A complete event; times are in microseconds since `origin`.
static void writeEvent(json::OStream &out, llvm::StringRef name, int row,
                       uint64_t start, uint64_t nanoseconds,
                       llvm::function_ref<void()> writeArguments) {
  out.object([&] {
    out.attribute("name", name);
    out.attribute("ph", "X");
    out.attribute("pid", 1);
    out.attribute("tid", row);
    out.attribute("ts", double(start) / 1e3);
    out.attribute("dur", double(nanoseconds) / 1e3);
    out.attributeObject("args", writeArguments);
  });
}

static void writeRowName(json::OStream &out, int row, llvm::StringRef name) {
  out.object([&] {
    out.attribute("name", "thread_name");
    out.attribute("ph", "M");
    out.attribute("pid", 1);
    out.attribute("tid", row);
    out.attributeObject("args", [&] { out.attribute("name", name); });
  });
}

llvm::Error Trace::write(const std::string &path) const {
  std::error_code problem;
  llvm::raw_fd_ostream file(path, problem);
  if (problem)
    return llvm::createStringError(problem, path + ": cannot be written");
  uint64_t origin = events.empty() ? 0 : events.front().start;
  auto writeLaunch = [&](json::OStream &out, const Event &event) {
    tenon_kernel_info_t kernel = {};
    kernel.struct_size = sizeof kernel;
    tenon_model_kernel(model, event.kernel, &kernel);
    writeEvent(out, event.name, 2, event.start - origin, event.nanoseconds,
               [&] {
                 out.attribute("kernel", json::fixUTF8(kernel.name));
                 out.attribute("schedule", kernel.schedule);
                 out.attribute("nodes", json::Array(event.nodes));
                 out.attribute("rows", event.rows);
                 out.attribute("pieces", event.pieces);
                 if (event.flops >= 0) {
                   out.attribute("flops", event.flops);
                   out.attribute("bytes", event.bytes);
                 }
               });
  };
  json::OStream out(file);
  out.object([&] {
    out.attribute("displayTimeUnit", "ms");
    out.attributeArray("traceEvents", [&] {
      writeRowName(out, 1, "runs");
      writeRowName(out, 2, "kernels");
      size_t first = 0;
      for (size_t end : runEnds) {
        if (first == end)
          continue;
        uint64_t start = events[first].start;
        const Event &last = events[end - 1];
        writeEvent(out, "run", 1, start - origin,
                   last.start + last.nanoseconds - start, [] {});
        for (; first < end; ++first)
          writeLaunch(out, events[first]);
      }
    });
  });
  file << '\n';
  file.close();
  if (file.has_error())
    return llvm::createStringError(file.error(), path + ": cannot be written");
  return llvm::Error::success();
}
