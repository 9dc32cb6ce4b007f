//===- Commands.h - The subcommands of tenon, as functions ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// main.cpp fills in these structures from the command line. Every function
// prints results to stdout and errors to stderr, and returns the exit code.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_COMMANDS_H
#define TENON_TOOLS_TENON_COMMANDS_H

#include <cstdint>
#include <string>
#include <vector>

namespace tenon {

enum ExitCode {
  kSuccess = 0,
  kFailure = 1, // The answer is no: it cannot be compiled, run or does not
                // agree.
  kInvalid = 2, // A bad command line, or a file that is not what it must be.
};

/// What products multiply.
struct PrecisionRequest {
  std::string all;  // "bf16", "auto"; empty: fp32, or what the plan says.
  std::string plan; // A file: read without `all`, written with it.
  // Of int8-weights, int4-weights and auto; 0: by default.
  int64_t blockSize = 0;
  std::string kvCache; // "bf16"; empty: caches are what the model says.
  // A folder with inputs. For auto (empty: seeded ones), for weights in few
  // bits (empty: to nearest), and for int8 (empty: scales are made at run
  // time), which chooses ranges by "minmax", "percentile" or "mse".
  std::string calibrate, calibration = "mse";
  // For auto: the error that outputs may have, of their largest magnitude, the
  // bytes that weights may have (0: any), and threads to measure with.
  double maxError = 1e-2;
  uint64_t maxMemory = 0;
  int threads = 0;

  bool isAuto() const { return all == "auto"; }
  bool isCalibrated() const { return !isAuto() && !calibrate.empty(); }
  bool readsPlan() const { return all.empty() && !plan.empty(); }
  bool writesPlan() const { return !all.empty() && !plan.empty(); }
};

struct CompileCommand {
  std::string model, output;
  std::vector<std::string> targets; // "cpu", "cuda"; none: cpu.
  std::vector<unsigned> sms;        // 80, 90, ...
  std::string cpu;                  // "x86-64-v3,x86-64-v4", "native"
  PrecisionRequest precision;
  std::vector<std::string> dims;         // "name=lo..hi" or "name=n"
  std::string emit;                      // Empty: an artifact.
  std::string plan;                      // SVG to write; empty: none.
  std::vector<std::string> requireFused; // "attention", "norm", ...
  std::string winograd = "f2";           // "off", "f2", "f4"
  std::string batchAtOnce = "auto";      // "auto", "all", or a number.
  std::string tf32 = "off";              // "off", "on", "3x"
  std::string seed = "0";                // A number, or "input".
  std::string codeCache;                 // A folder; "off" or empty: none.
  bool log = false, generic = false;
};
int runCompile(const CompileCommand &command);

/// Where artifacts run.
struct DeviceRequest {
  std::string device = "cpu"; // "cpu", "cuda" or "cuda:N".
  std::string driver;         // Of CUDA; empty: the system's.

  bool isCpu() const { return device == "cpu"; }
};

/// What a run reads.
struct InputRequest {
  std::vector<std::string> inputs; // One folder, or "name=file.npy" each.
  std::vector<std::string> random; // "name=1x128": noise of these sizes.
  bool noise = false;              // For all others, of the model's sizes,
  std::vector<std::string> dims;   // "batch=8", where it leaves them open.
};

struct RunCommand {
  std::string artifact;
  InputRequest request;
  std::string outputs; // Folder; empty: none is written.
  std::string level;   // Empty: the best.
  int threads = 0;
  DeviceRequest device;
};
int runRun(const RunCommand &command);

struct BenchCommand {
  std::string artifact;
  InputRequest request = {{}, {}, /*noise=*/true, {}};
  std::string level;
  int threads = 0, sessions = 1;
  std::vector<int> balance; // For so many threads each.
  double seconds = 3;
  std::string trace; // File to write; empty: none.
  bool json = false, profile = false;
  DeviceRequest device;
};
int runBench(const BenchCommand &command);

struct VerifyCommand {
  std::vector<std::string> models; // Folders in ONNX's test layout, or .onnx.
  std::vector<std::string> dims;
  std::string cpu = "native";
  PrecisionRequest precision;
  double maxError = -1; // Negative: by the model's element types.
  int threads = 0;
  int jobs = 0; // Processes at a time; 0: one per CPU; -1: none but this.
  std::string winograd = "f2";      // "off", "f2", "f4"
  std::string batchAtOnce = "auto"; // "auto", "all", or a number.
  std::string tf32 = "off";         // "off", "on", "3x"
  std::string codeCache;            // A folder; "off" or empty: none.
  bool reference = false, generic = false, json = false;
  DeviceRequest device;
};
int runVerify(const VerifyCommand &command);

struct CheckCommand {
  std::string model;
  bool json = false;
};
int runCheck(const CheckCommand &command);

struct ExplainCommand {
  std::string model;
  PrecisionRequest precision;
  std::vector<std::string> dims;
  std::string target = "cpu"; // "cuda": what each kernel should take.
  unsigned sm = 90;           // For which device.
  std::string tf32 = "off";   // "off", "on", "3x"
};
int runExplain(const ExplainCommand &command);
/// The same for --target=cuda.
int explainForCuda(const ExplainCommand &command);

struct InspectCommand {
  std::string artifact;
  bool verify = false, json = false;
};
int runInspect(const InspectCommand &command);

} // namespace tenon

#endif // TENON_TOOLS_TENON_COMMANDS_H
