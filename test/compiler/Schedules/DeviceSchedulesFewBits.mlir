// RUN: tenon-opt %s --apply-schedules="target=cuda explain=true without=MatmulTf32,MatmulTf32Small,MatmulTf32x3,MatmulTf32x3Small,MatmulSimt,MatmulSimtSmall" --split-input-file --verify-diagnostics | FileCheck %s

// A weight of 4 bits lies as warps read it, alike for few rows and for many;
// lhs is bf16.

// CHECK-LABEL: @by_nibbles
func.func @by_nibbles(%x: tensor<?x64xbf16, #graph.dims<m, 64>>) {
  %q = graph.weight {name = "q"} : () -> tensor<64x16xui8>
  %s = graph.weight {name = "s"} : () -> tensor<2x16xbf16>
  %z = graph.weight {name = "z"} : () -> tensor<2x16xui8>
  kernel.call @nibbles(%x, %q, %s, %z) params <m> : (tensor<?x64xbf16, #graph.dims<m, 64>>, tensor<64x16xui8>, tensor<2x16xbf16>, tensor<2x16xui8>) -> tensor<?x16xf32, #graph.dims<m, 16>>
  return
}
// CHECK: kernel.func @nibbles symbols ["d0"] layouts ["", "nibbles32", "sides32", "sides32"] schedule "MatmulRows"
// CHECK: kernel.func @nibbles_else1 symbols ["d0"] layouts ["", "nibbles32", "sides32", "sides32"] schedule "MatmulMmaSmall"
// CHECK: kernel.func @nibbles_else2 symbols ["d0"] layouts ["", "nibbles32", "sides32", "sides32"] schedule "MatmulMma"
kernel.func @nibbles symbols ["d0"] layouts ["", "", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%x: tensor<?x64xbf16, #graph.dims<d0, 64>>, %q: tensor<64x16xui8>, %s: tensor<2x16xbf16>, %z: tensor<2x16xui8>):
  %q3 = graph.reshape %q : (tensor<64x16xui8>) -> tensor<2x32x16xui8>
  %s3 = graph.reshape %s : (tensor<2x16xbf16>) -> tensor<2x1x16xbf16>
  %z3 = graph.reshape %z : (tensor<2x16xui8>) -> tensor<2x1x16xui8>
  %d = graph.dequantize %q3, %s3, %z3 {bits = 4 : i64}
      : (tensor<2x32x16xui8>, tensor<2x1x16xbf16>, tensor<2x1x16xui8>) -> tensor<2x32x16xf32>
  %b = graph.reshape %d : (tensor<2x32x16xf32>) -> tensor<64x16xf32>
  %a = graph.cast %x : (tensor<?x64xbf16, #graph.dims<d0, 64>>) -> tensor<?x64xf32, #graph.dims<d0, 64>>
  %c = graph.matmul %a, %b : (tensor<?x64xf32, #graph.dims<d0, 64>>, tensor<64x16xf32>)
      -> tensor<?x16xf32, #graph.dims<d0, 16>>
  kernel.yield %c : tensor<?x16xf32, #graph.dims<d0, 16>>
}

// -----

// Of 8 bits, where two halves of the columns meet, panels of both lie in turn.

// CHECK-LABEL: @by_bytes
func.func @by_bytes(%x: tensor<200x64xbf16>) {
  %q = graph.weight {name = "q"} : () -> tensor<64x16xi8>
  %s = graph.weight {name = "s"} : () -> tensor<2x16xbf16>
  kernel.call @bytes(%x, %q, %s) params <> : (tensor<200x64xbf16>, tensor<64x16xi8>, tensor<2x16xbf16>) -> tensor<200x8xf32>
  return
}
// CHECK: kernel.func @bytes symbols [] layouts ["", "bytes32_halves", "sides32_halves"] schedule "MatmulMmaSmall"
// expected-remark@+1 {{by MatmulRows: it has too many rows}}
kernel.func @bytes symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%x: tensor<200x64xbf16>, %q: tensor<64x16xi8>, %s: tensor<2x16xbf16>):
  %q3 = graph.reshape %q : (tensor<64x16xi8>) -> tensor<2x32x16xi8>
  %s3 = graph.reshape %s : (tensor<2x16xbf16>) -> tensor<2x1x16xbf16>
  %z = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %d = graph.dequantize %q3, %s3, %z
      : (tensor<2x32x16xi8>, tensor<2x1x16xbf16>, tensor<i8>) -> tensor<2x32x16xf32>
  %b = graph.reshape %d : (tensor<2x32x16xf32>) -> tensor<64x16xf32>
  %a = graph.cast %x : (tensor<200x64xbf16>) -> tensor<200x64xf32>
  %c = graph.matmul %a, %b : (tensor<200x64xf32>, tensor<64x16xf32>) -> tensor<200x16xf32>
  %l = graph.slice %c {starts = #graph.dims<0, 0>, steps = #graph.dims<1, 1>} : (tensor<200x16xf32>) -> tensor<200x8xf32>
  %h = graph.slice %c {starts = #graph.dims<0, 8>, steps = #graph.dims<1, 1>} : (tensor<200x16xf32>) -> tensor<200x8xf32>
  %y = graph.mul %l, %h : (tensor<200x8xf32>, tensor<200x8xf32>) -> tensor<200x8xf32>
  kernel.yield %y : tensor<200x8xf32>
}

// -----

// A lhs of f32, scales of f16, blocks of 16 steps and zero points of bytes are
// what no kernel reads.

// CHECK-LABEL: @others
func.func @others(%x: tensor<4x64xf32>, %h: tensor<4x64xbf16>) {
  %q = graph.weight {name = "q"} : () -> tensor<64x16xi8>
  %s = graph.weight {name = "s"} : () -> tensor<2x16xbf16>
  %f = graph.weight {name = "f"} : () -> tensor<2x16xf16>
  %t = graph.weight {name = "t"} : () -> tensor<4x16xbf16>
  kernel.call @wide_lhs(%x, %q, %s) params <> : (tensor<4x64xf32>, tensor<64x16xi8>, tensor<2x16xbf16>) -> tensor<4x16xf32>
  kernel.call @half_scales(%h, %q, %f) params <> : (tensor<4x64xbf16>, tensor<64x16xi8>, tensor<2x16xf16>) -> tensor<4x16xf32>
  kernel.call @short_blocks(%h, %q, %t) params <> : (tensor<4x64xbf16>, tensor<64x16xi8>, tensor<4x16xbf16>) -> tensor<4x16xf32>
  kernel.call @zero_point(%h, %q, %s) params <> : (tensor<4x64xbf16>, tensor<64x16xi8>, tensor<2x16xbf16>) -> tensor<4x16xf32>
  return
}
// CHECK: kernel.func @wide_lhs {{.*}} schedule "Generic"
// expected-remark@+3 {{by MatmulRows: rhs has few bits, and lhs is not bf16}}
// expected-remark@+2 {{by MatmulMmaSmall: rhs has few bits, and lhs is not bf16}}
// expected-remark@+1 {{by MatmulMma: rhs has few bits, and lhs is not bf16}}
kernel.func @wide_lhs symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%a: tensor<4x64xf32>, %q: tensor<64x16xi8>, %s: tensor<2x16xbf16>):
  %q3 = graph.reshape %q : (tensor<64x16xi8>) -> tensor<2x32x16xi8>
  %s3 = graph.reshape %s : (tensor<2x16xbf16>) -> tensor<2x1x16xbf16>
  %z = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %d = graph.dequantize %q3, %s3, %z
      : (tensor<2x32x16xi8>, tensor<2x1x16xbf16>, tensor<i8>) -> tensor<2x32x16xf32>
  %b = graph.reshape %d : (tensor<2x32x16xf32>) -> tensor<64x16xf32>
  %c = graph.matmul %a, %b : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  kernel.yield %c : tensor<4x16xf32>
}
// CHECK: kernel.func @half_scales {{.*}} schedule "Generic"
// expected-remark@+3 {{by MatmulRows: scales of rhs are neither f32 nor bf16}}
// expected-remark@+2 {{by MatmulMmaSmall: scales of rhs are neither f32 nor bf16}}
// expected-remark@+1 {{by MatmulMma: scales of rhs are neither f32 nor bf16}}
kernel.func @half_scales symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%x: tensor<4x64xbf16>, %q: tensor<64x16xi8>, %s: tensor<2x16xf16>):
  %q3 = graph.reshape %q : (tensor<64x16xi8>) -> tensor<2x32x16xi8>
  %s3 = graph.reshape %s : (tensor<2x16xf16>) -> tensor<2x1x16xf16>
  %z = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %d = graph.dequantize %q3, %s3, %z
      : (tensor<2x32x16xi8>, tensor<2x1x16xf16>, tensor<i8>) -> tensor<2x32x16xf32>
  %b = graph.reshape %d : (tensor<2x32x16xf32>) -> tensor<64x16xf32>
  %a = graph.cast %x : (tensor<4x64xbf16>) -> tensor<4x64xf32>
  %c = graph.matmul %a, %b : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  kernel.yield %c : tensor<4x16xf32>
}
// CHECK: kernel.func @short_blocks {{.*}} schedule "Generic"
// expected-remark@+3 {{by MatmulRows: blocks of rhs are no multiple of 32 steps of k}}
// expected-remark@+2 {{by MatmulMmaSmall: blocks of rhs are no multiple of 32 steps of k}}
// expected-remark@+1 {{by MatmulMma: blocks of rhs are no multiple of 32 steps of k}}
kernel.func @short_blocks symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%x: tensor<4x64xbf16>, %q: tensor<64x16xi8>, %s: tensor<4x16xbf16>):
  %q3 = graph.reshape %q : (tensor<64x16xi8>) -> tensor<4x16x16xi8>
  %s3 = graph.reshape %s : (tensor<4x16xbf16>) -> tensor<4x1x16xbf16>
  %z = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %d = graph.dequantize %q3, %s3, %z
      : (tensor<4x16x16xi8>, tensor<4x1x16xbf16>, tensor<i8>) -> tensor<4x16x16xf32>
  %b = graph.reshape %d : (tensor<4x16x16xf32>) -> tensor<64x16xf32>
  %a = graph.cast %x : (tensor<4x64xbf16>) -> tensor<4x64xf32>
  %c = graph.matmul %a, %b : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  kernel.yield %c : tensor<4x16xf32>
}
// CHECK: kernel.func @zero_point {{.*}} schedule "Generic"
// expected-remark@+3 {{by MatmulRows: rhs has numbers of 8 bits with zero points}}
// expected-remark@+2 {{by MatmulMmaSmall: rhs has numbers of 8 bits with zero points}}
// expected-remark@+1 {{by MatmulMma: rhs has numbers of 8 bits with zero points}}
kernel.func @zero_point symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%x: tensor<4x64xbf16>, %q: tensor<64x16xi8>, %s: tensor<2x16xbf16>):
  %q3 = graph.reshape %q : (tensor<64x16xi8>) -> tensor<2x32x16xi8>
  %s3 = graph.reshape %s : (tensor<2x16xbf16>) -> tensor<2x1x16xbf16>
  %z = graph.constant {value = dense<3> : tensor<i8>} : () -> tensor<i8>
  %d = graph.dequantize %q3, %s3, %z
      : (tensor<2x32x16xi8>, tensor<2x1x16xbf16>, tensor<i8>) -> tensor<2x32x16xf32>
  %b = graph.reshape %d : (tensor<2x32x16xf32>) -> tensor<64x16xf32>
  %a = graph.cast %x : (tensor<4x64xbf16>) -> tensor<4x64xf32>
  %c = graph.matmul %a, %b : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  kernel.yield %c : tensor<4x16xf32>
}
