// RUN: tenon-opt %s --apply-schedules=explain=true --split-input-file --verify-diagnostics | FileCheck %s

// A matmul of f32 by a weight packs the weight, whatever joins behind it.

// CHECK-LABEL: @by_weight
func.func @by_weight(%x: tensor<?x8xf32, #graph.dims<B, 8>>) {
  %w = graph.weight {name = "w"} : () -> tensor<8x100xf32>
  kernel.call @matmul(%x, %w) params <B> : (tensor<?x8xf32, #graph.dims<B, 8>>, tensor<8x100xf32>) -> tensor<?x100xf32, #graph.dims<B, 100>>
  return
}
// CHECK: kernel.func @matmul symbols ["d0"] layouts ["", "packed48"] schedule "PackedMatmul" geometry <{{.*}}floordiv(d0 +
kernel.func @matmul symbols ["d0"] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<?x8xf32, #graph.dims<d0, 8>>, %1: tensor<8x100xf32>):
  %2 = graph.matmul %0, %1 : (tensor<?x8xf32, #graph.dims<d0, 8>>, tensor<8x100xf32>) -> tensor<?x100xf32, #graph.dims<d0, 100>>
  %3 = graph.tanh %2 : (tensor<?x100xf32, #graph.dims<d0, 100>>) -> tensor<?x100xf32, #graph.dims<d0, 100>>
  kernel.yield %3 : tensor<?x100xf32, #graph.dims<d0, 100>>
}

// -----

// One caller that passes no weight is enough to refuse.

// CHECK-LABEL: @sometimes_weight
func.func @sometimes_weight(%x: tensor<4x8xf32>, %y: tensor<8x100xf32>) {
  %w = graph.weight {name = "w"} : () -> tensor<8x100xf32>
  kernel.call @matmul(%x, %w) params <> : (tensor<4x8xf32>, tensor<8x100xf32>) -> tensor<4x100xf32>
  kernel.call @matmul(%x, %y) params <> : (tensor<4x8xf32>, tensor<8x100xf32>) -> tensor<4x100xf32>
  return
}
// CHECK: kernel.func @matmul symbols [] layouts ["", ""] schedule "BatchedMatmul" geometry <3,
// expected-remark@+1 {{kernel 'matmul' does not run by PackedMatmul: rhs is no weight}}
kernel.func @matmul symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<4x8xf32>, %1: tensor<8x100xf32>):
  %2 = graph.matmul %0, %1 : (tensor<4x8xf32>, tensor<8x100xf32>) -> tensor<4x100xf32>
  kernel.yield %2 : tensor<4x100xf32>
}

// -----

// CHECK-LABEL: @other_refusals
func.func @other_refusals(%x: tensor<4x8xf16>, %y: tensor<3x4x8xf32>, %z: tensor<4x0xf32>) {
  %t = graph.weight {name = "t"} : () -> tensor<1x8x8xf32>
  kernel.call @repeated(%y, %t) params <> : (tensor<3x4x8xf32>, tensor<1x8x8xf32>) -> tensor<3x4x8xf32>
  %w = graph.weight {name = "w"} : () -> tensor<8x8xf16>
  %v = graph.weight {name = "v"} : () -> tensor<3x8x8xf32>
  %u = graph.weight {name = "u"} : () -> tensor<0x8xf32>
  kernel.call @half(%x, %w) params <> : (tensor<4x8xf16>, tensor<8x8xf16>) -> tensor<4x8xf16>
  kernel.call @batched(%y, %v) params <> : (tensor<3x4x8xf32>, tensor<3x8x8xf32>) -> tensor<3x4x8xf32>
  kernel.call @empty(%z, %u) params <> : (tensor<4x0xf32>, tensor<0x8xf32>) -> tensor<4x8xf32>
  return
}
// CHECK: kernel.func @half {{.*}} schedule "Generic"
// expected-remark@+2 {{by PackedMatmul: its operands are not f32}}
// expected-remark@+1 {{by BatchedMatmul: its operands are not f32}}
kernel.func @half symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<4x8xf16>, %1: tensor<8x8xf16>):
  %2 = graph.matmul %0, %1 : (tensor<4x8xf16>, tensor<8x8xf16>) -> tensor<4x8xf16>
  kernel.yield %2 : tensor<4x8xf16>
}
// CHECK: kernel.func @repeated {{.*}} schedule "BatchedMatmul"
// expected-remark@+1 {{rhs is neither one matrix nor one for each batch}}
kernel.func @repeated symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<3x4x8xf32>, %1: tensor<1x8x8xf32>):
  %2 = graph.matmul %0, %1 : (tensor<3x4x8xf32>, tensor<1x8x8xf32>) -> tensor<3x4x8xf32>
  kernel.yield %2 : tensor<3x4x8xf32>
}
// CHECK: kernel.func @batched symbols [] layouts ["", "packed48"] schedule "PackedMatmul"
kernel.func @batched symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<3x4x8xf32>, %1: tensor<3x8x8xf32>):
  %2 = graph.matmul %0, %1 : (tensor<3x4x8xf32>, tensor<3x8x8xf32>) -> tensor<3x4x8xf32>
  kernel.yield %2 : tensor<3x4x8xf32>
}
// CHECK: kernel.func @empty {{.*}} schedule "BatchedMatmul"
// expected-remark@+1 {{rhs is empty}}
kernel.func @empty symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<4x0xf32>, %1: tensor<0x8xf32>):
  %2 = graph.matmul %0, %1 : (tensor<4x0xf32>, tensor<0x8xf32>) -> tensor<4x8xf32>
  kernel.yield %2 : tensor<4x8xf32>
}

// -----

// Without a root, a row is the last axis; rank 1 is cut into blocks. There is
// nothing to explain.

// CHECK: kernel.func @rows {{.*}} schedule "Generic" geometry <d0 * d1,
kernel.func @rows symbols ["d0", "d1"] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<?x?x7xf32, #graph.dims<d0, d1, 7>>):
  %1 = graph.neg %0 : (tensor<?x?x7xf32, #graph.dims<d0, d1, 7>>) -> tensor<?x?x7xf32, #graph.dims<d0, d1, 7>>
  kernel.yield %1 : tensor<?x?x7xf32, #graph.dims<d0, d1, 7>>
}
// CHECK: kernel.func @blocks {{.*}} geometry <4,
kernel.func @blocks symbols [] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<1000xf32>):
  %1 = graph.neg %0 : (tensor<1000xf32>) -> tensor<1000xf32>
  kernel.yield %1 : tensor<1000xf32>
}
// CHECK: kernel.func @best {{.*}} geometry <d0,
// expected-remark@+1 {{kernel 'best' runs by Generic: there is no other schedule for 'graph.topk'}}
kernel.func @best symbols ["d0"] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<?x7xf32, #graph.dims<d0, 7>>):
  %1:2 = graph.topk %0 {axis = 1, largest = true} : (tensor<?x7xf32, #graph.dims<d0, 7>>) -> (tensor<?x2xf32, #graph.dims<d0, 2>>, tensor<?x2xi64, #graph.dims<d0, 2>>)
  kernel.yield %1#0 : tensor<?x2xf32, #graph.dims<d0, 2>>
}

// -----

// Sizes whose product is beyond all numbers have no geometry.

// expected-error@+1 {{the sizes of kernel 'overflows' overflow}}
kernel.func @overflows symbols ["d0"] layouts [""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<?x4611686018427387904x4x1xf32, #graph.dims<d0, 4611686018427387904, 4, 1>>):
  %1 = graph.neg %0 : (tensor<?x4611686018427387904x4x1xf32, #graph.dims<d0, 4611686018427387904, 4, 1>>) -> tensor<?x4611686018427387904x4x1xf32, #graph.dims<d0, 4611686018427387904, 4, 1>>
  kernel.yield %1 : tensor<?x4611686018427387904x4x1xf32, #graph.dims<d0, 4611686018427387904, 4, 1>>
}

// -----

// A schedule whose pieces would be too long an expression leaves it to one that
// needs none.

// CHECK-LABEL: kernel.func @deep {{.*}} schedule "Generic"
// expected-remark@+2 {{kernel 'deep' does not run by PackedMatmul: rhs is no weight}}
// expected-remark@+1 {{kernel 'deep' does not run by BatchedMatmul: its sizes overflow, or are too long an expression}}
kernel.func @deep symbols ["d0"] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<?x64xf32, #graph.dims<mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(d0, 100), 99), 98), 97), 96), 95), 94), 93), 92), 91), 90), 89), 88), 87), 86), 85), 84), 83), 82), 81), 80), 79), 78), 77), 64>>, %1: tensor<64x64xf32>):
  %2 = graph.matmul %0, %1 : (tensor<?x64xf32, #graph.dims<mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(d0, 100), 99), 98), 97), 96), 95), 94), 93), 92), 91), 90), 89), 88), 87), 86), 85), 84), 83), 82), 81), 80), 79), 78), 77), 64>>, tensor<64x64xf32>) -> tensor<?x64xf32, #graph.dims<mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(d0, 100), 99), 98), 97), 96), 95), 94), 93), 92), 91), 90), 89), 88), 87), 86), 85), 84), 83), 82), 81), 80), 79), 78), 77), 64>>
  kernel.yield %2 : tensor<?x64xf32, #graph.dims<mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(mod(d0, 100), 99), 98), 97), 96), 95), 94), 93), 92), 91), 90), 89), 88), 87), 86), 85), 84), 83), 82), 81), 80), 79), 78), 77), 64>>
}

// -----

// A quantized weight: numbers in words of eight, scales in lines.

// CHECK-LABEL: @by_quantized_weight
func.func @by_quantized_weight(%x: tensor<4x64xf32>) {
  %q = graph.weight {name = "q"} : () -> tensor<64x16xi8>
  %s = graph.weight {name = "s"} : () -> tensor<2x16xbf16>
  kernel.call @quantized(%x, %q, %s) params <> : (tensor<4x64xf32>, tensor<64x16xi8>, tensor<2x16xbf16>) -> tensor<4x16xf32>
  return
}
// CHECK: kernel.func @quantized symbols [] layouts ["", "nibbles48", "lines48"] schedule "PackedMatmul"
kernel.func @quantized symbols [] layouts ["", "", ""] schedule "" geometry <0, 0, 0> {
^bb0(%a: tensor<4x64xf32>, %q: tensor<64x16xi8>, %s: tensor<2x16xbf16>):
  %q3 = graph.reshape %q : (tensor<64x16xi8>) -> tensor<2x32x16xi8>
  %s3 = graph.reshape %s : (tensor<2x16xbf16>) -> tensor<2x1x16xbf16>
  %z = graph.constant {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %d = graph.dequantize %q3, %s3, %z {bits = 4 : i64}
      : (tensor<2x32x16xi8>, tensor<2x1x16xbf16>, tensor<i8>) -> tensor<2x32x16xf32>
  %b = graph.reshape %d : (tensor<2x32x16xf32>) -> tensor<64x16xf32>
  %c = graph.matmul %a, %b : (tensor<4x64xf32>, tensor<64x16xf32>)
      -> tensor<4x16xf32>
  kernel.yield %c : tensor<4x16xf32>
}
