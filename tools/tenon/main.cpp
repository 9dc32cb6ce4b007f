//===- main.cpp - The command line of tenon -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/Commands.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"
#include <CLI/CLI.hpp>

#include <functional>
#include <new>
#include <unistd.h>

using namespace tenon;

namespace {

using Command = std::function<int()>;

const char *const kExitCodes =
    "Exit codes: 0 done; 1 the answer is no (not compiled, not equal, not\n"
    "supported, failed); 2 a bad command line or a file that is no model or\n"
    "artifact. Errors go to stderr.";

template <typename Options>
CLI::App *addCommand(CLI::App &app, const char *name, const char *text,
                     int (*run)(const Options &),
                     std::shared_ptr<Options> options, Command &chosen) {
  CLI::App *command = app.add_subcommand(name, text);
  command->footer(kExitCodes);
  command->callback(
      [&chosen, run, options] { chosen = [=] { return run(*options); }; });
  return command;
}

void addPrecision(CLI::App *command, PrecisionRequest &precision,
                  const std::string &ofPlan, bool canChoose = false) {
  std::vector<std::string> names = {"fp32", "bf16",         "fp16",
                                    "int8", "int8-weights", "int4-weights"};
  if (canChoose)
    names.push_back("auto");
  command
      ->add_option(
          "--precision", precision.all,
          std::string("What products multiply: fp32 (the default); bf16, which "
                      "also halves the weights; fp16, finer, on CPUs of "
                      "weights alone; weights alone in blocks of 8 or 4 bits "
                      "by what is bf16; int8") +
              (canChoose ? "; or auto, which chooses for each" : ""))
      ->check(CLI::IsMember(names));
  command
      ->add_option("--block-size", precision.blockSize,
                   "Elements of a column of a weight in 8 or 4 bits that share "
                   "a scale: 16, 32 (the default), 64, 128 or 256; more are "
                   "fewer bytes and larger errors")
      ->check(CLI::IsMember({16, 32, 64, 128, 256}));
  command->add_option("--precision-plan", precision.plan,
                      "JSON with a precision for each product: " + ofPlan);
  command
      ->add_option("--kv-cache", precision.kvCache,
                   "What the keys and values of earlier tokens are kept in, at "
                   "the interface too: f32, f16, bf16, or int8 with a "
                   "scale for each row (by default what the model says)")
      ->check(CLI::IsMember({"f32", "f16", "bf16", "int8"}));
}

/// `first` begins what --calibrate says.
void addCalibration(CLI::App *command, PrecisionRequest &precision,
                    const std::string &first) {
  CLI::Option *calibrate =
      command
          ->add_option("--calibrate", precision.calibrate,
                       first +
                           "scales of --precision=int8 static, and that "
                           "weights in 8 or 4 bits are rounded by: a folder "
                           "with test_data_set_*, or with input_0.pb or "
                           ".npy ...")
          ->check(CLI::ExistingDirectory);
  command
      ->add_option("--calibration", precision.calibration,
                   "How --precision=int8 --calibrate chooses ranges: all that "
                   "was seen (minmax), without a ten-thousandth of the values "
                   "(percentile), or that of the least squares of errors (mse, "
                   "the default)")
      ->check(CLI::IsMember({"minmax", "percentile", "mse"}))
      ->needs(calibrate);
}

/// "cpu", "cuda" or "cuda:N".
std::string checkDevice(const std::string &text) {
  if (text == "cpu" || text == "cuda")
    return "";
  bool known = text.size() > 5 && text.size() < 10 && text.starts_with("cuda:");
  for (size_t i = 5; known && i < text.size(); ++i)
    known = text[i] >= '0' && text[i] <= '9';
  return known ? "" : text + " is not cpu, cuda or cuda:N";
}

void addDevice(CLI::App *command, DeviceRequest &device) {
  command
      ->add_option("--device", device.device,
                   "Where to run: cpu (the default), cuda, or cuda:N")
      ->check(checkDevice);
  command->add_option("--cuda-driver", device.driver,
                      "The CUDA driver's library, instead of libcuda.so.1");
}

void addWinograd(CLI::App *command, std::string &value) {
  command
      ->add_option("--winograd", value,
                   "3x3 convolutions by Winograd tiles of 2x2 outputs (f2, the "
                   "default), of 4x4 too, which loses three bits (f4), or not "
                   "(off)")
      ->check(CLI::IsMember({"off", "f2", "f4"}));
}

void addBatchAtOnce(CLI::App *command, std::string &value) {
  command
      ->add_option("--batch-at-once", value,
                   "Items of a batch that a CPU runs at a time, where none "
                   "depends on another: as many as have their values in "
                   "caches (auto, the default), all, or a number")
      ->check(CLI::IsMember({"auto", "all"}) | CLI::Range(1, INT32_MAX));
}

void addCodeCache(CLI::App *command, std::string &folder) {
  command
      ->add_option("--code-cache", folder,
                   "Folder that keeps the code of functions, so that none that "
                   "is equal to one compiled before is compiled again; or off")
      ->envname("TENON_CODE_CACHE");
}

void addTf32(CLI::App *command, std::string &value) {
  command
      ->add_option("--tf32", value,
                   "f32 products on CUDA: exact (off, the default), of factors "
                   "rounded to 11 bits, on tensor cores (on), or of factors "
                   "split into two such parts, close to f32 (3x)")
      ->check(CLI::IsMember({"off", "on", "3x"}));
}

void addCompile(CLI::App &app, Command &chosen) {
  auto options = std::make_shared<CompileCommand>();
  CLI::App *command =
      addCommand(app, "compile", "Compile an ONNX model to an artifact",
                 runCompile, options, chosen);
  command->add_option("model", options->model, "ONNX file")->required();
  command->add_option("-o,--output", options->output, "Artifact to write");
  command
      ->add_option("--target", options->targets,
                   "What the artifact runs on: cpu (the default), cuda, or "
                   "cpu,cuda for both")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"cpu", "cuda"}));
  command
      ->add_option("--sm", options->sms,
                   "For CUDA: also machine code for these compute "
                   "capabilities (80,90,100,120), which needs ptxas; without, "
                   "the driver compiles when it loads the artifact")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(80, 999));
  command->add_option("--cpu", options->cpu,
                      "CPU levels: x86-64-v3,x86-64-v4 (the default; where "
                      "8-bit numbers are multiplied also x86-64-v3-vnni and "
                      "x86-64-v4-vnni, for bf16, as attention is beside "
                      "those, x86-64-v4-bf16, for both x86-64-v4-amx), or "
                      "native");
  addPrecision(command, options->precision,
               "read without --precision, written with it",
               /*canChoose=*/true);
  command
      ->add_option("--max-error", options->precision.maxError,
                   "What --precision=auto may err, relative to each output's "
                   "largest magnitude (0.01)")
      ->check(CLI::Range(0.0, 1.0));
  command
      ->add_option("--max-memory", options->precision.maxMemory,
                   "What the weights of --precision=auto may take: 200MB")
      ->transform(CLI::AsSizeValue(true));
  addCalibration(command, options->precision,
                 "Inputs that --precision=auto measures by, that make the ");
  command
      ->add_option("--dim", options->dims,
                   "Range of a symbolic dim: NAME=LO..HI or NAME=N; or "
                   "NAME=OTHER, which it always equals")
      ->allow_extra_args(false);
  command
      ->add_option("--emit", options->emit,
                   "Stop at a stage and print it (or write it to -o)")
      ->check(CLI::IsMember(
          {"graph", "regions", "kernels", "exec", "llvm", "object", "ptx"}));
  command->add_option("--plan", options->plan,
                      "Draw the memory plan to an SVG file, for 128 of each "
                      "symbolic dim or what --dim says");
  command
      ->add_option("--require-fused", options->requireFused,
                   "Fail where one of these stays written out: attention, "
                   "norm, activation, rotary")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--seed", options->seed,
                      "What random numbers are drawn by: a number (0), for "
                      "the same in every run, or 'input', for one more input "
                      "of the model, an i64 'seed'");
  addWinograd(command, options->winograd);
  addBatchAtOnce(command, options->batchAtOnce);
  addTf32(command, options->tf32);
  addCodeCache(command, options->codeCache);
  command->add_flag("--log", options->log, "A line per pass");
  command->add_flag("--generic", options->generic,
                    "Every kernel by the Generic schedule, to compare with");
}

void addRun(CLI::App &app, Command &chosen) {
  auto options = std::make_shared<RunCommand>();
  CLI::App *command =
      addCommand(app, "run", "Run an artifact once", runRun, options, chosen);
  command->add_option("artifact", options->artifact)->required();
  command->add_option("--inputs,inputs", options->request.inputs,
                      "A folder with input_0.pb or .npy ..., or NAME=FILE.npy "
                      "for each input; behind the artifact or --inputs, which "
                      "is the same");
  command->add_option("--random", options->request.random,
                      "Noise for an input: NAME=1x128");
  command->add_option("--outputs", options->outputs,
                      "Folder for output_0.npy ...");
  command->add_option("--level", options->level, "CPU level to use");
  command->add_option("--threads", options->threads,
                      "Threads; 0: one per core");
  addDevice(command, options->device);
}

void addBench(CLI::App &app, Command &chosen) {
  auto options = std::make_shared<BenchCommand>();
  CLI::App *command = addCommand(app, "bench", "Measure an artifact's runs",
                                 runBench, options, chosen);
  command->add_option("artifact", options->artifact)->required();
  command->add_option("--inputs", options->request.inputs,
                      "As for run; with output_0.pb ... errors are measured. "
                      "What is not given is noise");
  command->add_option("--random", options->request.random,
                      "Noise for an input: NAME=1x128");
  command->add_option("--dim", options->request.dims,
                      "Size of a symbolic dim, for inputs of noise: NAME=N");
  command->add_option("--level", options->level, "CPU level to use");
  command->add_option("--threads", options->threads,
                      "Threads; 0: one per core");
  addDevice(command, options->device);
  command->add_option("--seconds", options->seconds, "How long to measure");
  command
      ->add_option("--sessions", options->sessions,
                   "Also how many runs this many sessions of the model get "
                   "through at once, each on its own threads")
      ->check(CLI::Range(1, 64));
  command
      ->add_option("--balance", options->balance,
                   "Also how evenly so many threads would share a run, by its "
                   "pieces one by one: cores need not be there")
      ->check(CLI::Range(1, 256));
  command->add_flag("--profile", options->profile,
                    "Also what each kernel takes and has to do, the slowest "
                    "first, and how near it comes to this machine's limits");
  command->add_option("--trace", options->trace,
                      "Write a few runs to this file, as a Chrome trace");
  command->add_flag("--json", options->json, "Print JSON");
}

void addVerify(CLI::App &app, Command &chosen) {
  auto options = std::make_shared<VerifyCommand>();
  CLI::App *command =
      addCommand(app, "verify", "Compare a model's results with known ones",
                 runVerify, options, chosen);
  command
      ->add_option("models", options->models,
                   "Folders with model.onnx and test_data_set_*, or ONNX files "
                   "(compared with the evaluator on seeded inputs)")
      ->required();
  command->add_option("--max-error", options->maxError,
                      "Relative to each output's largest magnitude; default "
                      "1e-4, 1e-2 with f16 or bf16, 1e-1 when quantized; more "
                      "where a precision, or a plan's coarsest one, errs more");
  command->add_option("--cpu", options->cpu, "CPU level to compile for");
  addPrecision(command, options->precision,
               "read, in the place of --precision");
  addCalibration(command, options->precision, "Inputs that make the ");
  command
      ->add_option("--dim", options->dims,
                   "Size of a symbolic dim: NAME=N, or NAME=OTHER")
      ->allow_extra_args(false);
  addWinograd(command, options->winograd);
  addBatchAtOnce(command, options->batchAtOnce);
  addTf32(command, options->tf32);
  addCodeCache(command, options->codeCache);
  command->add_option("--threads", options->threads, "Threads of a run");
  addDevice(command, options->device);
  command->add_option("--jobs", options->jobs,
                      "Models at a time; -1: all in this process");
  command->add_flag("--generic", options->generic,
                    "Every kernel by the Generic schedule, to compare with");
  command->add_flag("--reference", options->reference,
                    "Run the evaluator, not compiled code");
  command->add_flag("--json", options->json, "Print JSON");
}

void addInspections(CLI::App &app, Command &chosen) {
  auto check = std::make_shared<CheckCommand>();
  CLI::App *command =
      addCommand(app, "check",
                 "Say whether a model is supported (0), has unsupported nodes "
                 "(1) or is no valid model (2)",
                 runCheck, check, chosen);
  command->add_option("model", check->model, "ONNX file")->required();
  command->add_flag("--json", check->json, "Print JSON");

  auto explain = std::make_shared<ExplainCommand>();
  command =
      addCommand(app, "explain", "Show which kernel computes each ONNX node",
                 runExplain, explain, chosen);
  command->add_option("model", explain->model, "ONNX file")->required();
  addPrecision(command, explain->precision,
               "read, in the place of --precision");
  addTf32(command, explain->tf32);
  command
      ->add_option("--target", explain->target,
                   "cuda: what each kernel has to do on a GPU, how it fills it "
                   "and the time that a model of the device gives it")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  command
      ->add_option("--sm", explain->sm,
                   "The GPU, for CUDA: 80 (A100), 90 (H200, the default), 100 "
                   "(B200) or 120 (RTX 5090)")
      ->check(CLI::IsMember({80, 90, 100, 120}));
  command
      ->add_option("--dim", explain->dims,
                   "Size of a symbolic dim: NAME=N, or NAME=OTHER; 128 "
                   "otherwise")
      ->allow_extra_args(false);

  auto inspect = std::make_shared<InspectCommand>();
  command = addCommand(app, "inspect", "Show what an artifact holds",
                       runInspect, inspect, chosen);
  command->add_option("artifact", inspect->artifact)->required();
  command->add_flag("--verify", inspect->verify, "Check all weights, too");
  command->add_flag("--json", inspect->json, "Print JSON");
}

} // namespace

/// What has no memory left cannot unwind: the files that were being written are
/// removed.
[[noreturn]] static void runOutOfMemory() {
  constexpr char text[] =
      "tenon: there is not enough memory; give it more, or take fewer threads "
      "or inputs to calibrate with\n";
  (void)!write(STDERR_FILENO, text, sizeof text - 1);
  llvm::sys::RunInterruptHandlers();
  _exit(kFailure);
}

int main(int argc, char **argv) {
  std::set_new_handler(runOutOfMemory);
  llvm::install_bad_alloc_error_handler(
      [](void *, const char *, bool) { runOutOfMemory(); });
  CLI::App app("Tenon compiles ONNX models to artifacts that run by "
               "themselves.");
  app.footer(kExitCodes);
  app.require_subcommand(1);
  Command chosen;
  addCompile(app, chosen);
  addRun(app, chosen);
  addBench(app, chosen);
  addVerify(app, chosen);
  addInspections(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? kSuccess : kInvalid;
  }
  return chosen();
}
