// Every refusal of the dialect, one case each.

// RUN: tenon-opt %s --split-input-file --verify-diagnostics

func.func @case(%p: !llvm.ptr) {
  // expected-error@+1 {{operand #0 must be a pointer to shared memory, !llvm.ptr<3>, but got '!llvm.ptr'}}
  %0 = ptx.ldmatrix %p : (!llvm.ptr) -> vector<4xi32>
  return
}

// -----

func.func @case(%p: !llvm.ptr<3>) {
  // expected-error@+1 {{result #0 must be fixed-length vector of 32-bit signless integer values of length 1/2/4, but got 'vector<3xi32>'}}
  %0 = ptx.ldmatrix %p : (!llvm.ptr<3>) -> vector<3xi32>
  return
}

// -----

func.func @case(%a: vector<2xi32>, %c: vector<4xf32>) {
  // expected-error@+1 {{operand #0 must be fixed-length vector of 32-bit signless integer values of length 4, but got 'vector<2xi32>'}}
  %0 = ptx.mma f16 %a, %a, %c : vector<2xi32>, vector<2xi32>, vector<4xf32>
  return
}

// -----

func.func @case(%a: vector<4xi32>, %b: vector<2xi32>) {
  // expected-error@+1 {{sums of bf16 are 'vector<4xf32>', not 'vector<4xi32>'}}
  %0 = ptx.mma bf16 %a, %b, %a : vector<4xi32>, vector<2xi32>, vector<4xi32>
  return
}

// -----

func.func @case(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf32>) {
  // expected-error@+1 {{sums of u8_s8 are 'vector<4xi32>', not 'vector<4xf32>'}}
  %0 = ptx.mma u8_s8 %a, %b, %c : vector<4xi32>, vector<2xi32>, vector<4xf32>
  return
}

// -----

func.func @case(%p: !llvm.ptr<3>) {
  // expected-error@+1 {{operand #1 must be a pointer to global memory, !llvm.ptr<1>, but got '!llvm.ptr<3>'}}
  ptx.cp_async ca 4 %p, %p : !llvm.ptr<3>, !llvm.ptr<3>
  return
}

// -----

func.func @case(%p: !llvm.ptr<3>, %g: !llvm.ptr<1>) {
  // expected-error@+1 {{copies 12 bytes, but must copy 4, 8 or 16}}
  ptx.cp_async ca 12 %p, %g : !llvm.ptr<3>, !llvm.ptr<1>
  return
}

// -----

func.func @case(%p: !llvm.ptr<3>, %g: !llvm.ptr<1>) {
  // expected-error@+1 {{copies 8 bytes by cg, which copies 16}}
  ptx.cp_async cg 8 %p, %g : !llvm.ptr<3>, !llvm.ptr<1>
  return
}

// -----

func.func @case() {
  // expected-error@+1 {{leaves -1 groups pending}}
  ptx.cp_async_wait -1
  return
}

// -----

func.func @case() {
  // expected-error@+1 {{has id 16, but there are barriers 0 to 15}}
  ptx.named_barrier 16 threads 128
  return
}

// -----

func.func @case() {
  // expected-error@+1 {{is for 100 threads, but it must be for whole warps: a multiple of 32 up to 1024}}
  ptx.named_barrier 1 threads 100
  return
}

// -----

func.func @case(%p: !llvm.ptr<3>) {
  // expected-error@+1 {{leading is 24, but must be a multiple of 16 below 262144}}
  %0 = ptx.wgmma.descriptor none %p leading 24 stride 128
      : (!llvm.ptr<3>) -> i64
  return
}

// -----

func.func @case(%p: !llvm.ptr<3>) {
  // expected-error@+1 {{stride is 262144, but must be a multiple of 16 below 262144}}
  %0 = ptx.wgmma.descriptor none %p leading 16 stride 262144
      : (!llvm.ptr<3>) -> i64
  return
}

// -----

func.func @case(%d: i64, %c: vector<16xf32>) {
  // expected-error@+1 {{sums of s8 are i32, not 'f32'}}
  %0 = ptx.wgmma.mma s8 %d, %d, %c : i64, i64, vector<16xf32>
  return
}

// -----

func.func @case(%d: i64, %c: vector<16xi32>) {
  // expected-error@+1 {{sums of bf16 are f32, not 'i32'}}
  %0 = ptx.wgmma.mma bf16 %d, %d, %c : i64, i64, vector<16xi32>
  return
}

// -----

func.func @case(%d: i64, %c: vector<6xf32>) {
  // expected-error@+1 {{has 12 columns, two for each sum of a thread, but they must be a multiple of 8 up to 256}}
  %0 = ptx.wgmma.mma f16 %d, %d, %c : i64, i64, vector<6xf32>
  return
}

// -----

func.func @case(%d: i64, %c: vector<132xf32>) {
  // expected-error@+1 {{has 264 columns, two for each sum of a thread, but they must be a multiple of 8 up to 256}}
  %0 = ptx.wgmma.mma f16 %d, %d, %c : i64, i64, vector<132xf32>
  return
}

// -----

func.func @case(%d: i64, %c: vector<20xi32>) {
  // expected-error@+1 {{has 40 columns, but beyond 32 those of u8 must be a multiple of 16}}
  %0 = ptx.wgmma.mma u8 %d, %d, %c : i64, i64, vector<20xi32>
  return
}

// -----

func.func @case(%d: i64, %c: vector<16xf32>) {
  // expected-error@+1 {{transposes operands of tf32, but only those of f16 and bf16 may be}}
  %0 = ptx.wgmma.mma tf32 %d, %d, %c trans_rhs : i64, i64, vector<16xf32>
  return
}

// -----

func.func @case(%a: vector<4xi32>, %d: i64, %c: vector<16xf32>) {
  // expected-error@+1 {{transposes a lhs in registers}}
  %0 = ptx.wgmma.mma f16 %a, %d, %c trans_lhs
      : vector<4xi32>, i64, vector<16xf32>
  return
}

// -----

func.func @case() {
  // expected-error@+1 {{leaves 8 groups pending, but at most 7 may be}}
  ptx.wgmma.wait 8
  return
}

// -----

func.func @case(%c: vector<4xf16>) {
  // expected-error@+1 {{waits for vectors of f32 or i32, not 'vector<4xf16>'}}
  %0 = ptx.wgmma.wait 0 %c : vector<4xf16>
  return
}

// -----

func.func @case(%p: !llvm.ptr<3>, %map: !llvm.ptr, %x: i32) {
  // expected-error@+1 {{has 6 coordinates, but tensors have 1 to 5 axes}}
  ptx.tma.load %p, %map[%x, %x, %x, %x, %x, %x], %p
      : !llvm.ptr<3>, !llvm.ptr, i32, i32, i32, i32, i32, i32, !llvm.ptr<3>
  return
}

// -----

func.func @case(%p: !llvm.ptr<3>, %map: !llvm.ptr, %mask: i16) {
  // expected-error@+1 {{has 0 coordinates, but tensors have 1 to 5 axes}}
  ptx.tma.load_multicast %p, %map[], %p, %mask
      : !llvm.ptr<3>, !llvm.ptr, !llvm.ptr<3>, i16
  return
}

// -----

func.func @case(%p: !llvm.ptr<3>, %map: !llvm.ptr) {
  // expected-error@+1 {{has 0 coordinates, but tensors have 1 to 5 axes}}
  ptx.tma.store %map[], %p : !llvm.ptr, !llvm.ptr<3>
  return
}

// -----

func.func @case() {
  // expected-error@+1 {{leaves -2 groups pending}}
  ptx.tma.wait read -2
  return
}

// -----

func.func @case() {
  // expected-error@+1 {{sets 20 registers, but must set a multiple of 8 from 24 to 256}}
  ptx.setmaxnreg decrease 20
  return
}
