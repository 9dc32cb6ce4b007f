//===- model_format.h - The artifact file, as the compiler writes it ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contract between compiler and runtime; the only header both include.
//
// An artifact is an ELF shared object followed by weights and a footer:
//
//   [0, image_bytes)               ELF image: code of every level, metadata
//   [weights_offset, +weights)     page aligned, mapped read-only, shared
//   [checksums_offset, ...)        XXH3-64 of each weights block
//   [file_bytes - sizeof footer)   tenon_footer_t
//
// Metadata is one contiguous block inside the image, in `.rodata` of the ELF
// file; all its references are byte offsets from its start, so that it needs
// no relocation. Everything is little-endian; every table is 8-byte aligned.
// Readers must bounds-check every offset and count: the file is untrusted.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_RUNTIME_MODEL_FORMAT_H
#define TENON_RUNTIME_MODEL_FORMAT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_FORMAT_MAJOR 2 // A reader refuses another major.
#define TENON_FORMAT_MINOR 5 // A reader refuses a newer minor.
#define TENON_FOOTER_MAGIC UINT64_C(0x315f4e4f4e45545f) // "_TENON_1"
#define TENON_WEIGHTS_BLOCK (UINT64_C(1) << 20) // One checksum per block.
#define TENON_WEIGHTS_ALIGN 4096                // Of the weights in the file.
#define TENON_BUFFER_ALIGN 64 // Of every weight, arena buffer and output.
#define TENON_MAX_RANK 32
#define TENON_SHARED_ZEROS 512
#define TENON_MACHINE_X86_64 62 // e_machine.

// The last bytes of the file. `footer_xxh3` covers the bytes before it.
typedef struct tenon_footer_t {
  uint64_t magic;
  uint16_t format_major, format_minor;
  uint32_t machine; // TENON_MACHINE_*
  uint64_t file_bytes;
  uint64_t image_bytes;     // The ELF image is [0, image_bytes).
  uint64_t metadata_offset; // In the image: offset in the file ...
  uint64_t metadata_bytes;
  uint64_t weights_offset, weights_bytes;
  uint64_t checksums_offset; // ceil(weights_bytes / block) 64-bit sums.
  uint64_t image_xxh3[2];    // XXH3-128 (low, high) of [0, image_bytes).
  uint64_t checksums_xxh3;   // XXH3-64 of the table of block sums.
  uint64_t footer_xxh3;      // XXH3-64 of all bytes of the footer before.
} tenon_footer_t;

// A table in the metadata: `count` entries at byte `offset`.
typedef struct tenon_table_t {
  uint32_t offset, count;
} tenon_table_t;

// A string: `offset` into the metadata, `count` bytes, not NUL-terminated.
typedef tenon_table_t tenon_string_t;

// The start of the metadata.
typedef struct tenon_metadata_t {
  uint32_t bytes; // Of the whole block.
  uint32_t flags; // Must be 0.
  tenon_string_t model_name, producer;
  tenon_table_t levels;   // tenon_level_t, lowest requirement first
  tenon_table_t kernels;  // tenon_kernel_t
  tenon_table_t code;     // uint64_t [kernel][level]: virtual address
  tenon_table_t symbols;  // tenon_symbol_t
  tenon_table_t inputs;   // tenon_value_t
  tenon_table_t outputs;  // tenon_value_t
  tenon_table_t segments; // tenon_segment_t: the arena
  tenon_table_t steps;    // tenon_step_t, run in order
  tenon_table_t buffers;  // tenon_buffer_t: operands of launches
  tenon_table_t params;   // uint32_t expression indices: kernel parameters
  tenon_table_t dims;     // uint32_t expression indices: shapes of values
  tenon_table_t exprs;    // tenon_expr_t
  tenon_table_t words;    // int64_t: code of expressions
  tenon_table_t nodes;    // tenon_string_t: ONNX node names of launches
  tenon_table_t weights;  // tenon_weight_t: for `inspect` only
  // Since format 2.1; before, the header ends here.
  tenon_table_t costs; // tenon_cost_t of each step, or none
  // Since format 2.2; before, the header ends here and the target is a CPU.
  uint32_t target; // tenon_target_t
  uint32_t reserved;
  tenon_table_t images; // tenon_image_t: code for devices
  tenon_table_t blocks; // tenon_block_t of each kernel, for devices
  // The metadata of the same model for another target, in the ELF image:
  // offset and size. 0: there is none.
  uint64_t next_offset, next_bytes;
} tenon_metadata_t;

// What the kernels of a program run on. A program for a device has no levels
// and no code table; one for CPUs has no images and no blocks.
typedef enum tenon_target_t {
  TENON_TARGET_CPU = 0,
  TENON_TARGET_CUDA = 1,
} tenon_target_t;

typedef enum tenon_image_kind_t {
  TENON_IMAGE_PTX = 1,   // Text, its last byte NUL: runs on `sm` and newer.
  TENON_IMAGE_CUBIN = 2, // An ELF file: runs on `sm` and its minor versions.
} tenon_image_kind_t;

// Since format 2.4, beside its kind: all kernels wait for the launch before
// (griddepcontrol.wait) where they need its results, so that each may be begun
// while that one is ending.
#define TENON_IMAGE_WAITS 0x100

// Code of all kernels for a device, [offset, offset + bytes) in the ELF image.
// Its entries have the kernels' names.
typedef struct tenon_image_t {
  uint32_t kind; // tenon_image_kind_t, and TENON_IMAGE_WAITS or not
  uint32_t sm;   // 10 * major + minor of the compute capability: 80, 90.
  uint64_t offset, bytes;
} tenon_image_t;

// How a device runs a kernel: in blocks of that many threads.
typedef struct tenon_block_t {
  uint32_t threads;      // In [1, 1024].
  uint32_t shared_bytes; // Of dynamic shared memory.
} tenon_block_t;

// A CPU level: all bits of `features` must be present.
typedef struct tenon_level_t {
  tenon_string_t name; // "x86-64-v3"
  uint64_t features;   // TENON_CPU_*
} tenon_level_t;

enum {
  TENON_CPU_AVX2 = 1 << 0,   // and FMA, F16C, BMI1/2, LZCNT, MOVBE: v3
  TENON_CPU_AVX512 = 1 << 1, // F, BW, CD, DQ, VL: v4
  TENON_CPU_AVX512_VNNI = 1 << 2,
  TENON_CPU_AVX512_BF16 = 1 << 3, // and VBMI
  TENON_CPU_AMX = 1 << 4,         // TILE, BF16, INT8
  TENON_CPU_AVX512_FP16 = 1 << 5, // and VBMI
  TENON_CPU_AVX_VNNI = 1 << 6,    // In registers of 256 bits.
};

typedef struct tenon_kernel_t {
  tenon_string_t name;     // The symbol, less its level suffix.
  tenon_string_t schedule; // "Generic", "PackedMatmul", ...
} tenon_kernel_t;

// A size that is only known at run time. `lo..hi` is what the compiler
// assumed; a value outside is refused with the symbol's name.
typedef struct tenon_symbol_t {
  tenon_string_t name;
  int64_t lo, hi;
} tenon_symbol_t;

// Postfix code: words[first, first + count). See tenon_word_t.
typedef struct tenon_expr_t {
  uint32_t first, count;
} tenon_expr_t;

// Each instruction is one word, PUSH_* followed by its operand word.
// Arithmetic is overflow-checked; division is by a positive value only.
typedef enum tenon_word_t {
  TENON_PUSH_CONSTANT = 1, // next word: the value
  TENON_PUSH_SYMBOL = 2,   // next word: the symbol's index
  TENON_ADD = 3,
  TENON_MUL = 4,
  TENON_FLOOR_DIV = 5,
  TENON_MOD = 6, // a - b * floor(a / b)
  TENON_MIN = 7,
  TENON_MAX = 8,
  TENON_BROADCAST = 9, // a == 1 ? b : a
} tenon_word_t;

#ifndef TENON_DTYPE_DEFINED // tenon.h says the same.
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

// A model input or output. Dims are expressions. On entry each input dim is
// handled in order: a dim that is one still unset symbol sets it; any other
// is evaluated (after all inputs have set theirs) and must be equal.
typedef struct tenon_value_t {
  tenon_string_t name;
  uint32_t dtype; // tenon_dtype_t
  uint32_t rank;
  uint32_t first_dim; // dims[first_dim, + rank)
  // Unless 0, the memory has room for as many elements of dim `axis` as symbol
  // `room` - 1 says, which the caller sets; the dim says how many there are.
  uint32_t room;
  uint32_t axis;
  // Of an output, unless 0: it may be the memory of input `appends_to` - 1, if
  // both have the same room. Only what that does not hold yet is written then.
  uint32_t appends_to;
  uint32_t reserved;
} tenon_value_t;

// A part of the arena, (re)sized by its TENON_STEP_SEGMENT.
typedef struct tenon_segment_t {
  uint32_t bytes; // expression
  uint32_t reserved;
} tenon_segment_t;

typedef enum tenon_place_t {
  TENON_PLACE_NONE = 0,    // An absent operand: a null pointer.
  TENON_PLACE_INPUT = 1,   // index: which input
  TENON_PLACE_OUTPUT = 2,  // index: which output; memory made at first use
  TENON_PLACE_ARENA = 3,   // index: which segment
  TENON_PLACE_WEIGHTS = 4, // index: 0
} tenon_place_t;

// Where a launch finds an operand: `offset` bytes (an expression) into a
// place, `bytes` (an expression) long; the runtime checks that it fits.
typedef struct tenon_buffer_t {
  uint32_t place; // tenon_place_t
  uint32_t index;
  uint32_t offset;
  uint32_t bytes;
} tenon_buffer_t;

typedef enum tenon_step_kind_t {
  // Makes segment `a` of the arena (its size must be computable now).
  TENON_STEP_SEGMENT = 1,
  // Runs kernel `a` on buffers[first_buffer, +buffer_count) with parameters
  // params[first_param, +param_count) over rows [0, expr b), in pieces of
  // some expr c rows or more, or fewer where threads would have none; expr d:
  // scratch bytes per thread; expr shared - 1, unless shared is 0: bytes of
  // memory that all pieces share.
  TENON_STEP_LAUNCH = 2,
  // Reads `b` integers of dtype `c` from buffers[first_buffer] into the
  // symbols a, a+1, ..., a+b-1, each checked against its range.
  TENON_STEP_BIND = 3,
  // Symbol a = expression b.
  TENON_STEP_SET = 4,
  // Fails unless expr a RELATION expr b; c: tenon_relation_t; `message`.
  TENON_STEP_REQUIRE = 5,
  // Goes on at step a (which may lie behind: loops).
  TENON_STEP_JUMP = 6,
  // Goes on at step a when the bool in buffers[first_buffer] is false.
  TENON_STEP_JUMP_UNLESS = 7,
  // Copies the whole of buffers[first_buffer] to buffers[first_buffer + 1].
  TENON_STEP_COPY = 8,
  // Since format 2.5: goes on at step a unless expr b < expr c.
  TENON_STEP_JUMP_UNLESS_LESS = 9,
} tenon_step_kind_t;

typedef enum tenon_relation_t {
  TENON_EQUAL = 1,
  TENON_LESS_EQUAL = 2,
  TENON_BROADCASTS = 3, // a == b, a == 1 or b == 1
  TENON_DIVIDES = 4,    // b is a multiple of a (a > 0, or both 0)
} tenon_relation_t;

typedef struct tenon_step_t {
  uint32_t kind; // tenon_step_kind_t
  uint32_t a, b, c, d;
  uint32_t first_buffer, buffer_count;
  uint32_t first_param, param_count;
  // The ONNX nodes behind the step. A kernel reports the failing node as an
  // ordinal in this list.
  uint32_t first_node, node_count;
  uint32_t shared;
  tenon_string_t message; // TENON_STEP_REQUIRE: what must hold, a sentence.
} tenon_step_t;

// What a launch has to do, for rooflines. Each is an expression + 1, or 0 where
// it is not known. Bytes count once for each operand that is read and once for
// each that is written, whatever caches hold.
typedef struct tenon_cost_t {
  uint32_t flops; // Of products, convolutions and attention: 2 per term.
  uint32_t dtype; // tenon_dtype_t of their factors; 0: there are none.
  uint32_t weight_bytes;
  uint32_t bytes; // Of everything else.
} tenon_cost_t;

typedef struct tenon_weight_t {
  tenon_string_t name;
  uint64_t offset, bytes; // In the weights.
  uint32_t dtype, rank;
  tenon_string_t layout; // "row-major", "packed 48x1", ...
} tenon_weight_t;

// ---- What a kernel sees -------------------------------------------------

// Functions without a short polynomial; so the code has no undefined symbol.
enum tenon_math_t {
  TENON_MATH_ACOS,
  TENON_MATH_ACOSH,
  TENON_MATH_ASIN,
  TENON_MATH_ASINH,
  TENON_MATH_ATAN,
  TENON_MATH_ATANH,
  TENON_MATH_COS,
  TENON_MATH_COSH,
  TENON_MATH_ERF,
  TENON_MATH_EXP,
  TENON_MATH_EXPM1,
  TENON_MATH_LOG,
  TENON_MATH_LOG1P,
  TENON_MATH_SIN,
  TENON_MATH_SINH,
  TENON_MATH_TAN,
  TENON_MATH_TANH,
  TENON_MATH_UNARY_COUNT,
  TENON_MATH_POW = 0,
  TENON_MATH_FMOD,
  TENON_MATH_BINARY_COUNT,
};

typedef struct tenon_kernel_context_t {
  void *scratch; // Of this thread, 64-byte aligned, the launch's expr d long.
  double (*const *unary)(double);          // [TENON_MATH_UNARY_COUNT]
  double (*const *binary)(double, double); // [TENON_MATH_BINARY_COUNT]
  float (*const *unary_f32)(float);
  float (*const *binary_f32)(float, float);
  void *shared; // Of the launch; its first TENON_SHARED_ZEROS bytes start as 0.
  // Since format 2.3. Lines of the first level of the cache that addresses a
  // multiple of 4 KiB apart share on this machine.
  int64_t cache_ways;
} tenon_kernel_context_t;

// Computes rows [begin, end). Returns 0, or a fault: code | ordinal << 8,
// where the ordinal counts the launch's nodes.
typedef int32_t (*tenon_kernel_fn_t)(void *const *buffers,
                                     const int64_t *params, int64_t begin,
                                     int64_t end,
                                     const tenon_kernel_context_t *context);

// A kernel for a device takes 64-bit parameters alone, in this order: the
// addresses of its buffers (0: absent), its parameters, then
//
//   rows            that the launch has
//   grain           rows of a piece: piece p is rows [p * grain, (p+1) * grain)
//   scratch         address of the first thread's scratch memory
//   scratch_stride  bytes of it from thread to thread of the grid
//   shared          address of what all pieces share, TENON_SHARED_ZEROS zeros
//                   at its start, which are 0 again when the launch is over
//   fault           address of a uint64_t
//
// The grid has one dimension; block c does pieces c, c + blocks, and so on.
// A fault is the least of piece << 32 | code | ordinal << 8, put there by an
// atomic minimum; the host starts it with all bits set.

enum tenon_fault_t {
  TENON_FAULT_INDEX = 1,  // An index lies outside its axis.
  TENON_FAULT_DIVIDE = 2, // An integer division by zero.
  TENON_FAULT_COUNT = 3,  // A count or size that cannot be met.
  TENON_FAULT_VALUE = 4,  // Another value the operator forbids.
};

#ifdef __cplusplus
}
#endif

#endif // TENON_RUNTIME_MODEL_FORMAT_H
