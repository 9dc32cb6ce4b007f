//===- DevicePrograms.cpp - Programs for a device, to be simulated --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/runtime/DevicePrograms.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <numeric>
#include <unistd.h>

using namespace tenon;
using namespace tenon::test;

namespace {
/// An entry of `count` buffers and parameters, in %a0, %a1, ..., that runs
/// `body` for each %row of each %piece. The body may use %u<8> and %v<8> of 64
/// bits, %f<4> and %p<4>, and labels that end with the entry's name.
std::string entry(const std::string &name, unsigned count,
                  const std::string &body, const std::string &header = "") {
  const char *const common[] = {"rows",          "grain",  "scratch",
                                "scratch_bytes", "shared", "fault"};
  std::string parameters, loads;
  auto add = [&](const std::string &parameter, const std::string &value) {
    parameters += (parameters.empty() ? "" : ", ") +
                  std::string(".param .u64 ") + parameter;
    loads += "ld.param.u64 %" + value + ", [" + parameter + "];\n";
  };
  for (unsigned i = 0; i < count; ++i)
    add("in" + std::to_string(i), "a" + std::to_string(i));
  for (const char *value : common)
    add(std::string("the_") + value, value);
  return ".visible .entry " + name + "(" + parameters + ")\n{\n" +
         ".reg .b64 %a<8>; .reg .b64 %u<8>; .reg .b64 %v<8>;\n"
         ".reg .b32 %t<4>; .reg .f32 %f<4>; .reg .b16 %h<4>;\n"
         ".reg .pred %p<4>;\n"
         ".reg .b64 %rows, %grain, %scratch, %scratch_bytes, %shared, %fault;\n"
         ".reg .b64 %piece, %blocks, %thread, %threads, %row, %end;\n" +
         header + loads +
         "mov.u32 %t0, %ctaid.x; cvt.u64.u32 %piece, %t0;\n"
         "mov.u32 %t0, %nctaid.x; cvt.u64.u32 %blocks, %t0;\n"
         "mov.u32 %t0, %tid.x; cvt.u64.u32 %thread, %t0;\n"
         "mov.u32 %t0, %ntid.x; cvt.u64.u32 %threads, %t0;\n"
         "NEXT_PIECE:\n"
         "mul.lo.u64 %row, %piece, %grain;\n"
         "setp.ge.u64 %p0, %row, %rows;\n"
         "@%p0 bra DONE;\n"
         "add.u64 %end, %row, %grain;\n"
         "min.u64 %end, %end, %rows;\n"
         "add.u64 %row, %row, %thread;\n"
         "NEXT_ROW:\n"
         "setp.ge.u64 %p0, %row, %end;\n"
         "@%p0 bra PIECE_DONE;\n" +
         body +
         "ROW_DONE:\n"
         "add.u64 %row, %row, %threads;\n"
         "bra NEXT_ROW;\n"
         "PIECE_DONE:\n"
         "add.u64 %piece, %piece, %blocks;\n"
         "bra NEXT_PIECE;\n"
         "DONE:\n"
         "ret;\n}\n";
}

/// Loads or stores element %row of a buffer.
std::string element(const std::string &type, const std::string &buffer,
                    const std::string &to, unsigned bytes) {
  std::string row =
      "mad.lo.u64 %v7, %row, " + std::to_string(bytes) + ", " + buffer + ";\n";
  return row + "ld.global." + type + " " + to + ", [%v7];\n";
}
std::string store(const std::string &type, const std::string &buffer,
                  const std::string &from, unsigned bytes) {
  std::string row =
      "mad.lo.u64 %v7, %row, " + std::to_string(bytes) + ", " + buffer + ";\n";
  return row + "st.global." + type + " [%v7], " + from + ";\n";
}

/// Reports fault `code` of node `ordinal` and goes on with the next row.
std::string fault(unsigned code, unsigned ordinal) {
  return "shl.b64 %v0, %piece, 32;\n"
         "or.b64 %v0, %v0, " +
         std::to_string(code | ordinal << 8) +
         ";\n"
         "atom.global.min.u64 %v1, [%fault], %v0;\n"
         "bra ROW_DONE;\n";
}
} // namespace

std::string tenon::test::devicePtx(bool waits) {
  std::string ptx = ".version 8.0\n.target sm_80\n.address_size 64\n";
  ptx += entry("scale", 3,
               element("f32", "%a0", "%f0", 4) +
                   "setp.eq.u64 %p1, %a1, 0;\n"
                   "mov.f32 %f1, 0f3F800000;\n"
                   "@%p1 bra NO_WEIGHT;\n"
                   "ld.global.f32 %f1, [%a1];\n"
                   "NO_WEIGHT:\n"
                   "mul.f32 %f0, %f0, %f1;\n" +
                   store("f32", "%a2", "%f0", 4));
  ptx += entry("gather", 4,
               element("u64", "%a1", "%u0", 8) +
                   "setp.lt.u64 %p1, %u0, %a3;\n"
                   "@%p1 bra INSIDE;\n" +
                   fault(TENON_FAULT_INDEX, 1) +
                   "INSIDE:\n"
                   "mad.lo.u64 %u1, %u0, 8, %a0;\n"
                   "ld.global.u64 %u2, [%u1];\n"
                   "setp.ne.u64 %p2, %u2, 0;\n"
                   "@%p2 bra DIVIDES;\n" +
                   fault(TENON_FAULT_DIVIDE, 0) +
                   "DIVIDES:\n"
                   "mov.u64 %u3, 1000;\n"
                   "div.s64 %u3, %u3, %u2;\n" +
                   store("u64", "%a2", "%u3", 8));
  ptx += entry("increase", 2,
               element("u64", "%a0", "%u0", 8) + "add.u64 %u0, %u0, 1;\n" +
                   store("u64", "%a1", "%u0", 8));
  ptx += entry("less", 3,
               element("u64", "%a0", "%u0", 8) +
                   "setp.lt.s64 %p1, %u0, %a2;\n"
                   "selp.u16 %h0, 1, 0, %p1;\n" +
                   store("u8", "%a1", "%h0", 1));
  ptx += entry("places", 1,
               "mul.lo.u64 %u0, %piece, %grain;\n" +
                   store("u64", "%a0", "%u0", 8));
  ptx += entry("scratch", 2,
               "mul.lo.u64 %u0, %piece, %blocks;\n"
               "mov.u32 %t0, %ctaid.x; cvt.u64.u32 %u1, %t0;\n"
               "mad.lo.u64 %u1, %u1, %threads, %thread;\n"
               "mad.lo.u64 %u1, %u1, %scratch_bytes, %scratch;\n" +
                   element("u64", "%a0", "%u2", 8) +
                   "st.global.u64 [%u1], %u2;\n"
                   "ld.global.u64 %u3, [%u1];\n"
                   "add.u64 %u2, %u2, %u3;\n" +
                   store("u64", "%a1", "%u2", 8));
  ptx += entry("count", 1,
               // Behind the last row it is 0 again.
               "cvt.u32.u64 %t0, %rows;\n"
               "sub.u32 %t0, %t0, 1;\n"
               "atom.global.inc.u32 %t1, [%shared], %t0;\n"
               "cvt.u64.u32 %u0, %t1;\n"
               "add.u64 %u0, %u0, 1;\n"
               "atom.global.max.u64 %u1, [%a0], %u0;\n");
  ptx += entry("dynamic", 1,
               "mov.u64 %u0, block_memory;\n"
               "mad.lo.u64 %u1, %thread, 8, %u0;\n"
               "st.shared.u64 [%u1], %row;\n"
               "ld.shared.u64 %u2, [%u1];\n" +
                   store("u64", "%a0", "%u2", 8));
  size_t entries = ptx.find(".visible");
  ptx.insert(entries, ".extern .shared .align 16 .b8 block_memory[];\n");
  if (!waits)
    return ptx;
  ptx.replace(ptx.find("sm_80"), 5, "sm_90");
  const std::string start = "NEXT_PIECE:\n", wait = "griddepcontrol.wait;\n";
  for (size_t at = ptx.find(start); at != std::string::npos;
       at = ptx.find(start, at + wait.size() + start.size()))
    ptx.insert(at, wait);
  return ptx;
}

ArtifactBuilder tenon::test::deviceProgram() {
  ArtifactBuilder b;
  b.forDevices();
  b.addImage(TENON_IMAGE_PTX, 80, devicePtx());
  return b;
}

ArtifactBuilder tenon::test::deviceScale() {
  ArtifactBuilder b = deviceProgram();
  uint32_t n = b.symbol("n", 0, 1000000);
  uint32_t rows = b.linear(n, 4), bytes = b.linear(n, 16);
  b.input("x", TENON_F32, {b.size(n), b.constant(4)});
  b.output("y", TENON_F32, {b.size(n), b.constant(4)});
  uint32_t arena = b.segment(b.linear(n, 16, 64));
  uint32_t scale = b.deviceKernel("scale");
  float two = 2.0f;
  b.weights.assign(reinterpret_cast<const char *>(&two), sizeof two);
  auto middle = b.at(TENON_PLACE_ARENA, arena, bytes, b.constant(64));
  b.step(TENON_STEP_SEGMENT, arena);
  b.launch({scale,
            rows,
            {b.at(TENON_PLACE_INPUT, 0, bytes),
             b.at(TENON_PLACE_WEIGHTS, 0, b.constant(4)), middle},
            {},
            {"first"},
            b.constant(64)});
  b.launch({scale,
            rows,
            {middle, b.at(TENON_PLACE_NONE, 0, 0),
             b.at(TENON_PLACE_OUTPUT, 0, bytes)},
            {},
            {"second"},
            b.constant(100)});
  return b;
}

ArtifactBuilder tenon::test::deviceGather() {
  ArtifactBuilder b = deviceProgram();
  uint32_t n = b.symbol("n"), m = b.symbol("m");
  b.input("x", TENON_I64, {b.size(n)});
  b.input("index", TENON_I64, {b.size(m)});
  b.output("y", TENON_I64, {b.size(m)});
  b.launch({b.deviceKernel("gather"),
            b.size(m),
            {b.at(TENON_PLACE_INPUT, 0, b.linear(n, 8)),
             b.at(TENON_PLACE_INPUT, 1, b.linear(m, 8)),
             b.at(TENON_PLACE_OUTPUT, 0, b.linear(m, 8))},
            {b.size(n)},
            {"divide", "pick"}});
  return b;
}

namespace {
/// A function of the fake driver that the real one does not have. The library
/// stays loaded from the first on.
template <typename Result> Result driverSays(const char *name) {
  static void *library = dlopen(TENON_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
  void *function = library ? dlsym(library, name) : nullptr;
  if (!function) { // No test makes sense without it.
    fprintf(stderr, "%s\n", dlerror());
    _exit(1);
  }
  return reinterpret_cast<Result (*)()>(function)();
}
} // namespace

DeviceTest::DeviceTest() { restart({}); }

DeviceTest::~DeviceTest() {
  std::string violations = driverSays<const char *>("fakeCudaViolations");
  EXPECT_EQ(violations.empty(), !violates) << violations;
  restart({});
}

void DeviceTest::restart(const Environment &environment) {
  std::vector<std::string> old;
  for (char **entry = environ; *entry; ++entry)
    if (std::string text = *entry; text.starts_with("FAKE_CUDA_"))
      old.push_back(text.substr(0, text.find('=')));
  for (const std::string &name : old)
    unsetenv(name.c_str());
  for (const auto &[name, value] : environment)
    setenv(("FAKE_CUDA_" + name).c_str(), value.c_str(), 1);
  driverSays<void>("fakeCudaRestart");
}

tenon_status_t DeviceTest::open(Device &device, int index) {
  tenon_device_options_t options = {};
  options.struct_size = sizeof options;
  options.driver = TENON_FAKE_CUDA;
  options.index = index;
  return Device::open(device, &options);
}

tenon_status_t DeviceTest::load(const char *path, const Device &device,
                                Model &model) {
  tenon_load_options_t options = {};
  options.struct_size = sizeof options;
  options.device = device.get();
  return Model::load(path, model, &options);
}

DeviceTest::OnDevice::OnDevice(DeviceTest &test, const ArtifactBuilder &builder,
                               const tenon_session_options_t *options)
    : file(ArtifactBuilder(builder).build()) {
  EXPECT_EQ(test.open(device), TENON_OK) << lastError();
  EXPECT_EQ(load(file.path(), device, model), TENON_OK) << lastError();
  EXPECT_EQ(Session::create(model, session, options), TENON_OK) << lastError();
}

void tenon::test::expectScaled(Session &session, int64_t n) {
  std::vector<float> x(size_t(n) * 4);
  std::iota(x.begin(), x.end(), 1.0f);
  tenon_tensor_t input = tensor(TENON_F32, {n, 4}, x.data());
  tenon_tensor_t output = result();
  ASSERT_EQ(session.run({&input, 1}, {&output, 1}), TENON_OK) << lastError();
  EXPECT_EQ(output.dims[0], n);
  auto *y = static_cast<float *>(output.data);
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(y[i], x[i] * 2) << i;
}

tenon_session_options_t tenon::test::sessionOptions() {
  tenon_session_options_t options = {};
  options.struct_size = sizeof options;
  return options;
}

bool tenon::test::mentions(const char *part) {
  return lastError().find(part) != std::string_view::npos;
}
