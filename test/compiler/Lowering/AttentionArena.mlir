// RUN: sed s/LENGTH/1024/g %s | tenon-opt --form-regions --outline-kernels --apply-schedules --lower-to-exec | FileCheck %s -DARENA=524288
// RUN: sed s/LENGTH/4096/g %s | tenon-opt --form-regions --outline-kernels --apply-schedules --lower-to-exec | FileCheck %s -DARENA=2097152
// RUN: sed s/LENGTH/16384/g %s | tenon-opt --form-regions --outline-kernels --apply-schedules --lower-to-exec | FileCheck %s -DARENA=8388608

// The scores of attention are never whole in memory: over 1k, 4k and 16k
// tokens, the arena holds its query and its result, and a thread's scratch
// memory is the same.

// CHECK: segments = #graph.dims<[[ARENA]]>
// CHECK: exec.launch @attention{{.*}} 1, 38080{{(, [0-9]+)?}}>
func.func @main(%q: tensor<1x1xLENGTHx64xf32> {graph.name = "q"}, %k: tensor<1x1xLENGTHx64xf32> {graph.name = "k"}, %v: tensor<1x1xLENGTHx64xf32> {graph.name = "v"}) -> (tensor<1x1xLENGTHx64xf32> {graph.name = "y"}) {
  %0 = graph.softmax %q {axis = 3 : i64} : (tensor<1x1xLENGTHx64xf32>) -> tensor<1x1xLENGTHx64xf32>
  %1 = graph.attention %0, %k, %v {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 0.125 : f64, softcap = 0.0 : f64, causal = false, offset = #graph.dims<0>, window = 0 : i64, dead_rows = #graph<dead_rows zero>} : (tensor<1x1xLENGTHx64xf32>, tensor<1x1xLENGTHx64xf32>, tensor<1x1xLENGTHx64xf32>) -> tensor<1x1xLENGTHx64xf32>
  %2 = graph.softmax %1 {axis = 3 : i64} : (tensor<1x1xLENGTHx64xf32>) -> tensor<1x1xLENGTHx64xf32>
  return %2 : tensor<1x1xLENGTHx64xf32>
}
