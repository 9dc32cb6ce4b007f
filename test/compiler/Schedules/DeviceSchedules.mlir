// RUN: tenon-opt %s --apply-schedules="target=cuda explain=true without=MatmulTf32,MatmulTf32Small,MatmulTf32x3,MatmulTf32x3Small" --split-input-file --verify-diagnostics | FileCheck %s

// A product of f32 runs by tiles, a row of the launch each: here of 128 x 128.

// CHECK: kernel.func @large_else2 {{.*}} schedule "MatmulSimt" geometry <{{.*}}6 * floordiv(d0 + 127, 128){{.*}}, 1, 0>
// expected-remark@+2 {{by MatmulMmaSmall: its operands are neither bf16 nor f16}}
// expected-remark@+1 {{by MatmulMma: its operands are neither bf16 nor f16}}
kernel.func @large symbols ["d0"] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<?x8xf32, #graph.dims<d0, 8>>, %1: tensor<8x768xf32>):
  %2 = graph.matmul %0, %1 : (tensor<?x8xf32, #graph.dims<d0, 8>>, tensor<8x768xf32>) -> tensor<?x768xf32, #graph.dims<d0, 768>>
  kernel.yield %2 : tensor<?x768xf32, #graph.dims<d0, 768>>
}

// -----

// Where that makes few tiles, they are of 64 x 64.

// CHECK: kernel.func @small {{.*}} schedule "MatmulSimtSmall" geometry <12, 1, 0>
// expected-remark@+2 {{by MatmulRows: it has too many rows to read rhs for a few of them at a time}}
// expected-remark@+1 {{by MatmulMmaSmall: its operands are neither bf16 nor f16}}
kernel.func @small symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<3x100x8xf32>, %1: tensor<3x8x100xf32>):
  %2 = graph.matmul %0, %1 : (tensor<3x100x8xf32>, tensor<3x8x100xf32>) -> tensor<3x100x100xf32>
  kernel.yield %2 : tensor<3x100x100xf32>
}

// -----

// Both operands in 16 bits, widened or not, go to the matrix instructions.

// CHECK: kernel.func @widened {{.*}} schedule "MatmulMmaSmall" geometry <4, 1, 0>
// expected-remark@+1 {{by MatmulRows: it has too many rows to read rhs for a few of them at a time}}
kernel.func @widened symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<100x8xbf16>, %1: tensor<8x100xbf16>):
  %2 = graph.cast %0 : (tensor<100x8xbf16>) -> tensor<100x8xf32>
  %3 = graph.cast %1 : (tensor<8x100xbf16>) -> tensor<8x100xf32>
  %4 = graph.matmul %2, %3 : (tensor<100x8xf32>, tensor<8x100xf32>) -> tensor<100x100xf32>
  kernel.yield %4 : tensor<100x100xf32>
}

// -----

// Rows that begin at odd places are copied through registers.

// CHECK: kernel.func @odd {{.*}} schedule "MatmulMmaSmall"
// expected-remark@+1 {{by MatmulRows: it has too many rows to read rhs for a few of them at a time}}
kernel.func @odd symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<100x7xf16>, %1: tensor<7x101xf16>):
  %2 = graph.matmul %0, %1 : (tensor<100x7xf16>, tensor<7x101xf16>) -> tensor<100x101xf16>
  kernel.yield %2 : tensor<100x101xf16>
}

// -----

// A few tiles with many steps of k: eleven blocks share those of each here.

// CHECK: kernel.func @long {{.*}} schedule "MatmulSimtSmall" geometry <264, 1, 0, 4325888>
// expected-remark@+2 {{by MatmulRows: it has too many rows to read rhs for a few of them at a time}}
// expected-remark@+1 {{by MatmulMmaSmall: its operands are neither bf16 nor f16}}
kernel.func @long symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<128x3072xf32>, %1: tensor<3072x768xf32>):
  %2 = graph.matmul %0, %1 : (tensor<128x3072xf32>, tensor<3072x768xf32>) -> tensor<128x768xf32>
  kernel.yield %2 : tensor<128x768xf32>
}

// -----

// CHECK: kernel.func @wide {{.*}} schedule "MatmulSimt" geometry <144, 1, 0>
// expected-remark@+4 {{by MatmulRows: it has too many rows to read rhs for a few of them at a time}}
// expected-remark@+3 {{by MatmulMmaSmall: its operands are neither bf16 nor f16}}
// expected-remark@+2 {{by MatmulSimtSmall: it is for other sizes}}
// expected-remark@+1 {{by MatmulMma: its operands are neither bf16 nor f16}}
kernel.func @wide symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<768x64xf32>, %1: tensor<64x3072xf32>):
  %2 = graph.matmul %0, %1 : (tensor<768x64xf32>, tensor<64x3072xf32>) -> tensor<768x3072xf32>
  kernel.yield %2 : tensor<768x3072xf32>
}

// -----

// CHECK: kernel.func @mixed {{.*}} schedule "Generic"
// expected-remark@+5 {{by MatmulRows: it has too many rows to read rhs for a few of them at a time}}
// expected-remark@+4 {{by MatmulMmaSmall: its operands are of two types}}
// expected-remark@+3 {{by MatmulMma: its operands are of two types}}
// expected-remark@+2 {{by MatmulSimtSmall: an operand is not f32}}
// expected-remark@+1 {{by MatmulSimt: an operand is not f32}}
kernel.func @mixed symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<100x8xf32>, %1: tensor<8x100xbf16>):
  %2 = graph.cast %1 : (tensor<8x100xbf16>) -> tensor<8x100xf32>
  %3 = graph.matmul %0, %2 : (tensor<100x8xf32>, tensor<8x100xf32>) -> tensor<100x100xf32>
  kernel.yield %3 : tensor<100x100xf32>
}

// -----

// At few rows, rhs is read as it streams by: a row of the launch per block, of
// which four share the steps of k here.

// CHECK: kernel.func @narrow {{.*}} schedule "MatmulRows" geometry <16, 1, 0, 16896>
kernel.func @narrow symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<3x500xf32>, %1: tensor<500x100xf32>):
  %2 = graph.matmul %0, %1 : (tensor<3x500xf32>, tensor<500x100xf32>) -> tensor<3x100xf32>
  kernel.yield %2 : tensor<3x100xf32>
}

// -----

// Where rows are known at run time only, there is a kernel for few, and for
// the other sizes another one, which has no rows at those.

// CHECK: kernel.func @any symbols ["d0"] {{.*}} schedule "MatmulRows" geometry <{{.*}}min(1, max(0, -1 * d0 + 17)){{.*}}, 1, 0, {{.*}}> attributes {otherwise = @any_else1}
// CHECK: kernel.func @any_else1 symbols ["d0"] {{.*}} schedule "MatmulSimtSmall" {{.*}} attributes {otherwise = @any_else2}
// CHECK: kernel.func @any_else2 symbols ["d0"] {{.*}} schedule "MatmulSimt"
// expected-remark@+2 {{by MatmulMmaSmall: its operands are neither bf16 nor f16}}
// expected-remark@+1 {{by MatmulMma: its operands are neither bf16 nor f16}}
kernel.func @any symbols ["d0"] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<?x500xf32, #graph.dims<d0, 500>>, %1: tensor<500x1000xf32>):
  %2 = graph.matmul %0, %1 : (tensor<?x500xf32, #graph.dims<d0, 500>>, tensor<500x1000xf32>) -> tensor<?x1000xf32, #graph.dims<d0, 1000>>
  kernel.yield %2 : tensor<?x1000xf32, #graph.dims<d0, 1000>>
}

// -----

// A tile of few columns would be mostly empty.

// CHECK: kernel.func @slim {{.*}} schedule "Generic"
// expected-remark@+5 {{by MatmulRows: it has too many rows to read rhs for a few of them at a time}}
// expected-remark@+4 {{by MatmulMmaSmall: its operands are neither bf16 nor f16}}
// expected-remark@+3 {{by MatmulMma: its operands are neither bf16 nor f16}}
// expected-remark@+2 {{by MatmulSimtSmall: it has so few rows or columns that tiles would be mostly empty}}
// expected-remark@+1 {{by MatmulSimt: it has so few rows or columns that tiles would be mostly empty}}
kernel.func @slim symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<300x8xf32>, %1: tensor<8x3xf32>):
  %2 = graph.matmul %0, %1 : (tensor<300x8xf32>, tensor<8x3xf32>) -> tensor<300x3xf32>
  kernel.yield %2 : tensor<300x3xf32>
}

// -----

// What follows a tile is computed of its own sums.

// CHECK: kernel.func @moved {{.*}} schedule "Generic"
// expected-remark@+5 {{by MatmulRows: it moves data behind the matmul}}
// expected-remark@+4 {{by MatmulMmaSmall: it moves data behind the matmul}}
// expected-remark@+3 {{by MatmulMma: it moves data behind the matmul}}
// expected-remark@+2 {{by MatmulSimtSmall: it moves data behind the matmul}}
// expected-remark@+1 {{by MatmulSimt: it moves data behind the matmul}}
kernel.func @moved symbols [] layouts ["", ""] schedule "" geometry <0, 0, 0> {
^bb0(%0: tensor<100x8xf32>, %1: tensor<8x100xf32>):
  %2 = graph.matmul %0, %1 : (tensor<100x8xf32>, tensor<8x100xf32>) -> tensor<100x100xf32>
  %3 = graph.slice %2 {starts = #graph.dims<0, 0>, steps = #graph.dims<1, 2>} : (tensor<100x100xf32>) -> tensor<100x50xf32>
  %4 = graph.exp %3 : (tensor<100x50xf32>) -> tensor<100x50xf32>
  kernel.yield %4 : tensor<100x50xf32>
}
