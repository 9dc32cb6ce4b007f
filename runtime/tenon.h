//===- tenon.h - Loads and runs Tenon artifacts ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model is one loaded artifact: immutable, shared by any number of sessions
// and threads. A session is the memory and the threads of one run at a time.
//
// Every function that can fail returns a status; TENON_OK is zero. After any
// other status tenon_last_error() holds one sentence about it, per thread.
// Results named `out_...` are set before anything can fail. Structs carry
// their size: set `struct_size` to sizeof and every unused member to zero.
//
// Nothing here but tenon_session_cancel may be called from a signal handler. An
// artifact must not be truncated while a model is loaded from it: its weights
// stay in the file.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_RUNTIME_TENON_H
#define TENON_RUNTIME_TENON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TENON_API __attribute__((visibility("default")))
#else
#define TENON_API
#endif

#define TENON_MAX_RANK 32

typedef enum tenon_status_t {
  TENON_OK = 0,
  TENON_INVALID_ARGUMENT = 1, // A misuse of this interface.
  TENON_NOT_FOUND = 2,        // No such file, input, output, level or device.
  TENON_IO_ERROR = 3,         // The operating system or a driver refused.
  TENON_BAD_FORMAT = 4,       // Not an artifact, or a damaged one.
  TENON_UNSUPPORTED = 5,      // Another version, machine, CPU or device.
  TENON_OUT_OF_MEMORY = 6,    // Or over the session's memory limit.
  TENON_BAD_INPUT = 7,        // A tensor that the model does not take.
  TENON_FAILED = 8,           // A node cannot compute these values.
  TENON_BUSY = 9,             // The session is in use by another thread.
  TENON_CANCELLED = 10,       // tenon_session_cancel ended the run.
} tenon_status_t;

#ifndef TENON_DTYPE_DEFINED // model_format.h says the same.
#define TENON_DTYPE_DEFINED
typedef enum tenon_dtype_t {
  TENON_F32 = 1, // The numbers are ONNX's.
  TENON_U8 = 2,
  TENON_I8 = 3,
  TENON_U16 = 4,
  TENON_I16 = 5,
  TENON_I32 = 6,
  TENON_I64 = 7,
  TENON_BOOL = 9, // One byte, 0 or 1.
  TENON_F16 = 10,
  TENON_F64 = 11,
  TENON_U32 = 12,
  TENON_U64 = 13,
  TENON_BF16 = 16,
} tenon_dtype_t;
#endif

typedef struct tenon_device_t tenon_device_t;
typedef struct tenon_model_t tenon_model_t;
typedef struct tenon_session_t tenon_session_t;

// The sentence about this thread's last failure; never NULL.
TENON_API const char *tenon_last_error(void);

// "2.2": the newest artifact format that this library reads.
TENON_API const char *tenon_version(void);

// "f32", ...; NULL for a number that is no element type.
TENON_API const char *tenon_dtype_name(uint32_t dtype);

// Bytes of one element; 0 for a number that is no element type.
TENON_API size_t tenon_dtype_bytes(uint32_t dtype);

// ---- Devices ------------------------------------------------------------

// Which device, and by which driver.
typedef struct tenon_device_options_t {
  size_t struct_size;
  const char *kind;   // "cuda", as NULL.
  const char *driver; // The driver's library; NULL: "libcuda.so.1".
  int32_t index;      // As the driver counts them, from 0.
  int32_t reserved;
} tenon_device_options_t;

// Opens a device. Nothing of it is linked: the driver's library is loaded here
// and unloaded with its last device. `options` may be NULL.
TENON_API tenon_status_t tenon_device_open(
    const tenon_device_options_t *options, tenon_device_t **out_device);

// A device lives until it is released once more than it was retained; models
// on it retain it. Both accept NULL. Any threads may use it at once.
TENON_API void tenon_device_retain(tenon_device_t *device);
TENON_API void tenon_device_release(tenon_device_t *device);

typedef struct tenon_device_info_t {
  size_t struct_size;
  const char *kind, *name; // Strings live as long as the device.
  uint64_t memory_bytes;
  uint32_t compute_capability; // 10 * major + minor: 80, 90.
  uint32_t driver_version;     // 1000 * major + 10 * minor: 12040.
  int32_t index;
  uint32_t reserved;
} tenon_device_info_t;

TENON_API tenon_status_t tenon_device_info(const tenon_device_t *device,
                                           tenon_device_info_t *out_info);

// Memory of the device, for tensors that stay there. Frees accept NULL.
TENON_API tenon_status_t tenon_device_allocate(tenon_device_t *device,
                                               size_t bytes, void **out_memory);
TENON_API tenon_status_t tenon_device_free(tenon_device_t *device,
                                           void *memory);

// Copies between any two of the device's and the host's memory; both are ready
// when it returns.
TENON_API tenon_status_t tenon_device_copy(tenon_device_t *device, void *to,
                                           const void *from, size_t bytes);

// ---- Models -------------------------------------------------------------

typedef struct tenon_load_options_t {
  size_t struct_size;
  const char *level;      // Use this CPU level, not the best; NULL: choose.
  int32_t verify_weights; // Not 0: check every weight byte (slower).
  // Not 0: load program 1, 2, ... of the artifact only to ask about it, on
  // any machine. It can have no sessions.
  int32_t describe;
  tenon_device_t *device; // Where it will run; NULL: on the CPU.
} tenon_load_options_t;

// Loads the artifact in the regular file `path`: its program for the device,
// or for CPUs. Code and metadata are verified before any of it is used;
// weights are mapped, not read, or copied to the device.
// `options` may be NULL. The file may be deleted (not truncated) afterwards.
TENON_API tenon_status_t tenon_model_load(const char *path,
                                          const tenon_load_options_t *options,
                                          tenon_model_t **out_model);

// A model lives until it is released once more than it was retained; its
// sessions retain it. Both accept NULL.
TENON_API void tenon_model_retain(tenon_model_t *model);
TENON_API void tenon_model_release(tenon_model_t *model);

// Checks the checksum of every block of weights.
TENON_API tenon_status_t tenon_model_verify_weights(const tenon_model_t *model);

typedef struct tenon_model_info_t {
  size_t struct_size;
  const char *name, *producer; // Strings live as long as the model.
  const char *level;           // The CPU level in use.
  uint32_t input_count, output_count, symbol_count;
  uint32_t level_count, kernel_count, weight_count, step_count;
  uint32_t segment_count;
  uint64_t file_bytes, image_bytes, metadata_bytes, weights_bytes;
  uint64_t image_checksum[2]; // XXH3-128: low, high.
  const char *target;         // "cpu", "cuda": what its program is for.
  uint32_t program_count;     // In the artifact, one for each target.
  uint32_t image_count;       // Of its program, for a device.
} tenon_model_info_t;

TENON_API tenon_status_t tenon_model_info(const tenon_model_t *model,
                                          tenon_model_info_t *out_info);

// A model input or output. A dim that is not constant is -1 in `dims`;
// `dim_texts` holds each as text: "4", "batch", "2 * seq + 1".
//
// A cache that the model takes as an input and gives back with rows added to
// axis `grows_axis` may have room for more along it: see `capacity` below.
typedef struct tenon_value_info_t {
  size_t struct_size;
  const char *name;
  uint32_t dtype, rank;
  int64_t dims[TENON_MAX_RANK];
  const char *dim_texts[TENON_MAX_RANK];
  int32_t grows_axis; // -1: it is dense.
  int32_t appends_to; // Of an output: the input that it extends; or -1.
} tenon_value_info_t;

TENON_API tenon_status_t tenon_model_input(const tenon_model_t *model,
                                           uint32_t index,
                                           tenon_value_info_t *out_info);
TENON_API tenon_status_t tenon_model_output(const tenon_model_t *model,
                                            uint32_t index,
                                            tenon_value_info_t *out_info);

// The index of an input or output by its name.
TENON_API tenon_status_t tenon_model_find_input(const tenon_model_t *model,
                                                const char *name,
                                                uint32_t *out_index);
TENON_API tenon_status_t tenon_model_find_output(const tenon_model_t *model,
                                                 const char *name,
                                                 uint32_t *out_index);

// A size that is only known at run time, and its range.
typedef struct tenon_symbol_info_t {
  size_t struct_size;
  const char *name;
  int64_t lo, hi;
} tenon_symbol_info_t;

TENON_API tenon_status_t tenon_model_symbol(const tenon_model_t *model,
                                            uint32_t index,
                                            tenon_symbol_info_t *out_info);

typedef struct tenon_level_info_t {
  size_t struct_size;
  const char *name;
  int32_t runs_here; // This machine has what the level needs.
  int32_t in_use;
} tenon_level_info_t;

TENON_API tenon_status_t tenon_model_level(const tenon_model_t *model,
                                           uint32_t index,
                                           tenon_level_info_t *out_info);

typedef struct tenon_kernel_info_t {
  size_t struct_size;
  const char *name, *schedule;
  uint32_t launch_count; // Steps that launch it.
  uint32_t threads;      // Of a block on a device; 0: it is for CPUs.
  uint32_t shared_bytes; // Of dynamic shared memory, of a block.
  uint32_t reserved;
} tenon_kernel_info_t;

TENON_API tenon_status_t tenon_model_kernel(const tenon_model_t *model,
                                            uint32_t index,
                                            tenon_kernel_info_t *out_info);

typedef struct tenon_weight_info_t {
  size_t struct_size;
  const char *name, *layout;
  uint64_t offset, bytes;
  uint32_t dtype, rank;
} tenon_weight_info_t;

TENON_API tenon_status_t tenon_model_weight(const tenon_model_t *model,
                                            uint32_t index,
                                            tenon_weight_info_t *out_info);

// Code for devices.
typedef struct tenon_image_info_t {
  size_t struct_size;
  const char *kind; // "ptx": for `compute_capability` and newer; "cubin": for
                    // it and its newer minor versions.
  uint64_t bytes;
  uint32_t compute_capability; // 10 * major + minor.
  int32_t in_use;
} tenon_image_info_t;

TENON_API tenon_status_t tenon_model_image(const tenon_model_t *model,
                                           uint32_t index,
                                           tenon_image_info_t *out_info);

// ---- Sessions -----------------------------------------------------------

// Calls body(job, i) once for each i in [0, count), on any threads, and
// returns when all calls have returned.
typedef void (*tenon_parallel_for_t)(void *user, int32_t count,
                                     void (*body)(void *job, int32_t i),
                                     void *job);

typedef struct tenon_session_options_t {
  size_t struct_size;
  int32_t threads;           // With the caller's; 0: a thread for each core
                             // that we may use and our group's quota allows.
  int32_t spin_microseconds; // Before an idle worker sleeps; 0: default 100;
                             // -1: none.
  uint64_t memory_limit;     // Bytes; 0: the machine's memory.
  tenon_parallel_for_t parallel_for; // Instead of threads of our own, or NULL.
  void *parallel_user;
  // Of a model on a device; the members above but `memory_limit`, which is the
  // device's memory there, are for CPUs.
  void *stream;              // A CUstream to work on; NULL: one of our own.
  int32_t results_on_device; // Not 0: outputs without `data` stay there.
  int32_t no_graphs;         // Not 0: each run launches its kernels anew.
  // For whoever asks how evenly threads would share work. Not 0: launches are
  // cut for `threads`, but the caller alone runs their pieces, one after the
  // other, and an observer gets the time of each.
  int32_t one_by_one;
  int32_t reserved;
} tenon_session_options_t;

// `options` may be NULL. Where threads cannot be had it runs with fewer.
TENON_API tenon_status_t tenon_session_create(
    tenon_model_t *model, const tenon_session_options_t *options,
    tenon_session_t **out_session);

// Frees the session. Refused with TENON_BUSY during a run. Accepts NULL.
TENON_API tenon_status_t tenon_session_destroy(tenon_session_t *session);

// A row-major tensor, dense unless `capacity` is set: that may be done for
// values with a `grows_axis`, whose size in memory along that axis it says (at
// least that in `dims`). `bytes` is then that of the memory. Where an output
// that `appends_to` an input is given the same `data` and capacity as that
// input, rows that are there stay, and only the new ones are written.
typedef struct tenon_tensor_t {
  size_t struct_size;
  uint32_t dtype, rank;
  int64_t dims[TENON_MAX_RANK];
  void *data;
  size_t bytes;
  int64_t capacity; // Along the axis that grows; 0: as in `dims`.
} tenon_tensor_t;

// Runs the model once.
//
// `inputs` are all of the model's, in its order; they are only read. `data`
// may have any alignment, and may be NULL when the tensor has no elements.
//
// `outputs` are all of the model's, in its order. With `data` NULL the result
// is the session's memory, valid until its next run; otherwise the result is
// written to `data`, where `bytes` says how much fits (without a copy, when
// it is 64-byte aligned and overlaps no input but the one it extends). The
// other members but `capacity` are set.
//
// On a device `data` may be the host's or the device's memory, which must be
// ready, or is so by work on the session's stream. What is the device's is not
// copied when it is aligned to 64 bytes. Results are ready at the return.
//
// After a failure the session can run again; outputs are then undefined.
TENON_API tenon_status_t tenon_session_run(tenon_session_t *session,
                                           const tenon_tensor_t *inputs,
                                           uint32_t input_count,
                                           tenon_tensor_t *outputs,
                                           uint32_t output_count);

// The same of a model on a device, but it returns when the work is on the
// session's stream; what computes a size on the device waits for that. Runs
// follow each other on the stream, and share the session's memory.
//
// Until tenon_session_wait the tensors belong to the device: inputs in its own
// memory or pinned, which may not change, and outputs. These must be given in
// such memory, or stay on the device with `results_on_device`, in the session's
// memory, which the next run writes. Others of the host are copied before it
// returns, as inputs, and refused as outputs. A stream of the caller's must
// live until then.
TENON_API tenon_status_t tenon_session_enqueue(tenon_session_t *session,
                                               const tenon_tensor_t *inputs,
                                               uint32_t input_count,
                                               tenon_tensor_t *outputs,
                                               uint32_t output_count);

// Waits for all runs that were enqueued. Fails as one of them does that meets a
// fault, such as an index out of range, of which tenon_session_enqueue could
// not know: outputs since the last wait are then undefined. So does the next
// tenon_session_run in its place. TENON_OK when there is nothing to wait for.
TENON_API tenon_status_t tenon_session_wait(tenon_session_t *session);

// With `cancelled` not 0, the session's run ends with TENON_CANCELLED before
// its next step (a kernel that has begun is finished), and so do later runs,
// before they begin, until this is called with 0. So a run that ends just
// before the call does not lose it. Work that is on a device's stream already
// is finished.
//
// Any thread may call it during a run; NULL is accepted. It is how a model with
// a loop that does not end, or not in time, is stopped.
TENON_API void tenon_session_cancel(tenon_session_t *session,
                                    int32_t cancelled);

typedef struct tenon_session_info_t {
  size_t struct_size;
  uint32_t threads; // That run, with the caller's.
  uint32_t reserved;
  uint64_t runs;          // That succeeded.
  uint64_t arena_bytes;   // Held by segments.
  uint64_t output_bytes;  // Held for outputs, and copies of inputs.
  uint64_t scratch_bytes; // Held by kernels' scratch, all threads.
  uint64_t graph_runs;    // That launched one recorded graph.
} tenon_session_info_t;

TENON_API tenon_status_t tenon_session_info(tenon_session_t *session,
                                            tenon_session_info_t *out_info);

// ---- Observation --------------------------------------------------------

typedef struct tenon_operand_t {
  void *data; // NULL: the operand is absent. On a device: its address there.
  size_t bytes;
} tenon_operand_t;

// One launch that has just returned. All pointers end with the callback.
typedef struct tenon_launch_t {
  size_t struct_size;
  uint32_t step, kernel;
  const char *kernel_name;
  const char *const *nodes; // ONNX nodes that the launch computes.
  uint32_t node_count, operand_count, parameter_count;
  uint32_t pieces; // Row ranges it was split into.
  const tenon_operand_t *operands;
  const int64_t *parameters;
  int64_t rows;
  uint64_t nanoseconds;
  uint64_t start; // When it began, in nanoseconds of a clock that only rises.
  // What it had to do, at the sizes of this run; -1: not known. A product has
  // 2 operations per term, of factors of the type `flops_dtype`. Bytes count
  // once for each operand, wherever they came from.
  int64_t flops, weight_bytes, bytes;
  uint32_t flops_dtype; // 0: there is no product in it.
  uint32_t reserved;
  const uint64_t *piece_nanoseconds; // Where pieces ran one by one, else NULL.
} tenon_launch_t;

typedef void (*tenon_observer_t)(void *user, const tenon_launch_t *launch);

// `observer` is called after every launch, in the thread that runs; NULL: no
// more. It may read operands (of a device by tenon_device_copy, as all work has
// ended then), and must not call into the session.
TENON_API tenon_status_t tenon_session_set_observer(tenon_session_t *session,
                                                    tenon_observer_t observer,
                                                    void *user);

#ifdef __cplusplus
}
#endif

#endif // TENON_RUNTIME_TENON_H
