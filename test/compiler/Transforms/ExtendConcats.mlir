// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tenon-opt %s --extend-concats --split-input-file | FileCheck %s

// Each layer's features behind all before: from the longest that is there.

// CHECK-LABEL: @dense
// CHECK:       %[[A:.*]] = graph.concat %arg0, %arg1 {axis = 1 : i64}
// CHECK-NEXT:  %[[B:.*]] = graph.concat %[[A]], %arg2 {axis = 1 : i64} : (tensor<?x5xf32, {{.*}}>, tensor<?x4xf32, {{.*}}>) -> tensor<?x9xf32
// CHECK-NEXT:  %[[C:.*]] = graph.concat %[[B]], %arg0, %arg1 {axis = 1 : i64} : {{.*}} -> tensor<?x14xf32
// CHECK-NEXT:  return %[[A]], %[[B]], %[[C]]
func.func @dense(%x: tensor<?x2xf32, #graph.dims<N, 2>>, %y: tensor<?x3xf32, #graph.dims<N, 3>>, %z: tensor<?x4xf32, #graph.dims<N, 4>>) -> (tensor<?x5xf32, #graph.dims<N, 5>>, tensor<?x9xf32, #graph.dims<N, 9>>, tensor<?x14xf32, #graph.dims<N, 14>>) {
  %0 = graph.concat %x, %y {axis = 1 : i64} : (tensor<?x2xf32, #graph.dims<N, 2>>, tensor<?x3xf32, #graph.dims<N, 3>>) -> tensor<?x5xf32, #graph.dims<N, 5>>
  %1 = graph.concat %x, %y, %z {axis = 1 : i64} : (tensor<?x2xf32, #graph.dims<N, 2>>, tensor<?x3xf32, #graph.dims<N, 3>>, tensor<?x4xf32, #graph.dims<N, 4>>) -> tensor<?x9xf32, #graph.dims<N, 9>>
  %2 = graph.concat %x, %y, %z, %x, %y {axis = 1 : i64} : (tensor<?x2xf32, #graph.dims<N, 2>>, tensor<?x3xf32, #graph.dims<N, 3>>, tensor<?x4xf32, #graph.dims<N, 4>>, tensor<?x2xf32, #graph.dims<N, 2>>, tensor<?x3xf32, #graph.dims<N, 3>>) -> tensor<?x14xf32, #graph.dims<N, 14>>
  return %0, %1, %2 : tensor<?x5xf32, #graph.dims<N, 5>>, tensor<?x9xf32, #graph.dims<N, 9>>, tensor<?x14xf32, #graph.dims<N, 14>>
}

// -----

// Not along another axis, not in another order, and not what begins elsewhere.

// CHECK-LABEL: @others
// CHECK:       graph.concat %arg0, %arg1 {axis = 0 : i64}
// CHECK-NEXT:  graph.concat %arg1, %arg0 {axis = 1 : i64}
// CHECK-NEXT:  graph.concat %arg0, %arg1, %arg1 {axis = 1 : i64}
// CHECK-NEXT:  graph.concat %arg1, %arg1 {axis = 1 : i64}
func.func @others(%x: tensor<2x2xf32>, %y: tensor<2x2xf32>) -> (tensor<4x2xf32>, tensor<2x4xf32>, tensor<2x6xf32>, tensor<2x4xf32>) {
  %0 = graph.concat %x, %y {axis = 0 : i64} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %1 = graph.concat %y, %x {axis = 1 : i64} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x4xf32>
  %2 = graph.concat %x, %y, %y {axis = 1 : i64} : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x6xf32>
  %3 = graph.concat %y, %y {axis = 1 : i64} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x4xf32>
  return %0, %1, %2, %3 : tensor<4x2xf32>, tensor<2x4xf32>, tensor<2x6xf32>, tensor<2x4xf32>
}
