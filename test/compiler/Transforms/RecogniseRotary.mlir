// RUN: tenon-opt %s --recognise-rotary --simplify --split-input-file | FileCheck %s
// RUN: tenon-opt %s --recognise-rotary=explain=true --split-input-file 2>&1 >/dev/null | FileCheck %s --check-prefix=WHY

// Halves, and tables of which both halves are one: x cos + concat(-x2, x1) sin.

// CHECK-LABEL: @halves
// CHECK-SAME:    %[[X:.*]]: tensor<?x2x?x4xf32, {{.*}}>, %[[F:.*]]: tensor
// CHECK-NEXT:  %[[C:.*]] = graph.cos %[[F]]
// CHECK-NEXT:  %[[S:.*]] = graph.sin %[[F]]
// CHECK-NEXT:  %[[Y:.*]] = graph.rotary %[[X]], %[[C]], %[[S]] {interleaved = false}
// CHECK-NEXT:  return %[[Y]]
func.func @halves(%x: tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, %f: tensor<?x?x2xf32, #graph.dims<B, S, 2>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>> {
  %a = graph.concat %f, %f {axis = 2 : i64} : (tensor<?x?x2xf32, #graph.dims<B, S, 2>>, tensor<?x?x2xf32, #graph.dims<B, S, 2>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %c0 = graph.cos %a : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %s0 = graph.sin %a : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %c = graph.reshape %c0 : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>
  %s = graph.reshape %s0 : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>
  %x1 = graph.slice %x {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %x2 = graph.slice %x {starts = #graph.dims<0, 0, 0, 2>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %n = graph.neg %x2 : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %r = graph.concat %n, %x1 {axis = 3 : i64} : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>, tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %p = graph.mul %x, %c : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %q = graph.mul %r, %s : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %y = graph.add %p, %q : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  return %y : tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
}

// -----

// The factor of YaRN is part of both tables, and operands may stand in any order.

// CHECK-LABEL: @scaled_tables
// CHECK:       %[[C:.*]] = graph.mul %{{.*}}, %{{.*}} : {{.*}} -> tensor<?x?x2xf32
// CHECK:       graph.rotary %{{.*}} {interleaved = false}
// CHECK-NOT:   graph.neg
func.func @scaled_tables(%x: tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, %f: tensor<?x?x2xf32, #graph.dims<B, S, 2>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>> {
  %k = graph.constant {value = dense<1.25> : tensor<f32>} : () -> tensor<f32>
  %a = graph.concat %f, %f {axis = 2 : i64} : (tensor<?x?x2xf32, #graph.dims<B, S, 2>>, tensor<?x?x2xf32, #graph.dims<B, S, 2>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %c0 = graph.cos %a : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %s0 = graph.sin %a : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %c1 = graph.mul %c0, %k : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>, tensor<f32>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %s1 = graph.mul %k, %s0 : (tensor<f32>, tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %c = graph.reshape %c1 : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>
  %s = graph.reshape %s1 : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>
  %x1 = graph.slice %x {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %x2 = graph.slice %x {starts = #graph.dims<0, 0, 0, 2>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %n = graph.neg %x2 : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %r = graph.concat %n, %x1 {axis = 3 : i64} : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>, tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %p = graph.mul %c, %x : (tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>, tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %q = graph.mul %s, %r : (tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>, tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %y = graph.add %q, %p : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  return %y : tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
}

// -----

// GPT-J: even and odd elements, and tables that repeat each column.

// CHECK-LABEL: @interleaved
// CHECK-SAME:    %[[X:.*]]: tensor<?x2x?x4xf32, {{.*}}>, %[[F:.*]]: tensor
// CHECK-NEXT:  %[[C:.*]] = graph.cos %[[F]]
// CHECK-NEXT:  %[[S:.*]] = graph.sin %[[F]]
// CHECK-NEXT:  %[[Y:.*]] = graph.rotary %[[X]], %[[C]], %[[S]] {interleaved = true}
func.func @interleaved(%x: tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, %f: tensor<?x?x2xf32, #graph.dims<B, S, 2>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>> {
  %f1 = graph.reshape %f : (tensor<?x?x2xf32, #graph.dims<B, S, 2>>) -> tensor<?x?x2x1xf32, #graph.dims<B, S, 2, 1>>
  %f2 = graph.broadcast %f1 : (tensor<?x?x2x1xf32, #graph.dims<B, S, 2, 1>>) -> tensor<?x?x2x2xf32, #graph.dims<B, S, 2, 2>>
  %a = graph.reshape %f2 : (tensor<?x?x2x2xf32, #graph.dims<B, S, 2, 2>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %c0 = graph.cos %a : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %s0 = graph.sin %a : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %c = graph.reshape %c0 : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>
  %s = graph.reshape %s0 : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>
  %x1 = graph.slice %x {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 2>} : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %x2 = graph.slice %x {starts = #graph.dims<0, 0, 0, 1>, steps = #graph.dims<1, 1, 1, 2>} : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %n = graph.neg %x2 : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %n1 = graph.reshape %n : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>) -> tensor<?x2x?x2x1xf32, #graph.dims<B, 2, S, 2, 1>>
  %x11 = graph.reshape %x1 : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>) -> tensor<?x2x?x2x1xf32, #graph.dims<B, 2, S, 2, 1>>
  %j = graph.concat %n1, %x11 {axis = 4 : i64} : (tensor<?x2x?x2x1xf32, #graph.dims<B, 2, S, 2, 1>>, tensor<?x2x?x2x1xf32, #graph.dims<B, 2, S, 2, 1>>) -> tensor<?x2x?x2x2xf32, #graph.dims<B, 2, S, 2, 2>>
  %r = graph.reshape %j : (tensor<?x2x?x2x2xf32, #graph.dims<B, 2, S, 2, 2>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %p = graph.mul %x, %c : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %q = graph.mul %r, %s : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %y = graph.add %p, %q : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  return %y : tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
}

// -----

// Both results from the halves, with tables half as wide.

// CHECK-LABEL: @pairs
// CHECK-SAME:    %[[X:.*]]: tensor<?x2x?x4xf32, {{.*}}>, %[[C:.*]]: tensor{{.*}}, %[[S:.*]]: tensor
// CHECK-NEXT:  %[[Y:.*]] = graph.rotary %[[X]], %[[C]], %[[S]] {interleaved = false}
// CHECK-NEXT:  return %[[Y]]
func.func @pairs(%x: tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, %c0: tensor<?x?x2xf32, #graph.dims<B, S, 2>>, %s0: tensor<?x?x2xf32, #graph.dims<B, S, 2>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>> {
  %c = graph.reshape %c0 : (tensor<?x?x2xf32, #graph.dims<B, S, 2>>) -> tensor<?x1x?x2xf32, #graph.dims<B, 1, S, 2>>
  %s = graph.reshape %s0 : (tensor<?x?x2xf32, #graph.dims<B, S, 2>>) -> tensor<?x1x?x2xf32, #graph.dims<B, 1, S, 2>>
  %x1 = graph.slice %x {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %x2 = graph.slice %x {starts = #graph.dims<0, 0, 0, 2>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %a = graph.mul %x1, %c : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>, tensor<?x1x?x2xf32, #graph.dims<B, 1, S, 2>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %b = graph.mul %x2, %s : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>, tensor<?x1x?x2xf32, #graph.dims<B, 1, S, 2>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %d = graph.sub %a, %b : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>, tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %e = graph.mul %x1, %s : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>, tensor<?x1x?x2xf32, #graph.dims<B, 1, S, 2>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %g = graph.mul %c, %x2 : (tensor<?x1x?x2xf32, #graph.dims<B, 1, S, 2>>, tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %h = graph.add %g, %e : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>, tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %y = graph.concat %d, %h {axis = 3 : i64} : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>, tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  return %y : tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
}

// -----

// Only the first elements of a head turn.

// CHECK-LABEL: @partial
// CHECK-SAME:    %[[X:.*]]: tensor<?x2x?x7xf32
// CHECK:       %[[Y:.*]] = graph.rotary %[[X]], %{{.*}} -> tensor<?x2x?x7xf32
// CHECK-NEXT:  return %[[Y]]
func.func @partial(%w: tensor<?x2x?x7xf32, #graph.dims<B, 2, S, 7>>, %f: tensor<?x?x2xf32, #graph.dims<B, S, 2>>) -> tensor<?x2x?x7xf32, #graph.dims<B, 2, S, 7>> {
  %a = graph.concat %f, %f {axis = 2 : i64} : (tensor<?x?x2xf32, #graph.dims<B, S, 2>>, tensor<?x?x2xf32, #graph.dims<B, S, 2>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %c0 = graph.cos %a : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %s0 = graph.sin %a : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %c = graph.reshape %c0 : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>
  %s = graph.reshape %s0 : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>
  %x = graph.slice %w {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x2x?x7xf32, #graph.dims<B, 2, S, 7>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %x1 = graph.slice %x {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %x2 = graph.slice %x {starts = #graph.dims<0, 0, 0, 2>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %n = graph.neg %x2 : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %r = graph.concat %n, %x1 {axis = 3 : i64} : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>, tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %p = graph.mul %x, %c : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %q = graph.mul %r, %s : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %t = graph.add %p, %q : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %rest = graph.slice %w {starts = #graph.dims<0, 0, 0, 4>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x2x?x7xf32, #graph.dims<B, 2, S, 7>>) -> tensor<?x2x?x3xf32, #graph.dims<B, 2, S, 3>>
  %y = graph.concat %t, %rest {axis = 3 : i64} : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x2x?x3xf32, #graph.dims<B, 2, S, 3>>) -> tensor<?x2x?x7xf32, #graph.dims<B, 2, S, 7>>
  return %y : tensor<?x2x?x7xf32, #graph.dims<B, 2, S, 7>>
}

// -----

// The same when its halves are cut out of the head at once.

// CHECK-LABEL: @partial_cut_together
// CHECK-SAME:    %[[X:.*]]: tensor<?x2x?x7xf32
// CHECK:       %[[Y:.*]] = graph.rotary %[[X]], %{{.*}} -> tensor<?x2x?x7xf32
// CHECK-NEXT:  return %[[Y]]
func.func @partial_cut_together(%w: tensor<?x2x?x7xf32, #graph.dims<B, 2, S, 7>>, %f: tensor<?x?x2xf32, #graph.dims<B, S, 2>>) -> tensor<?x2x?x7xf32, #graph.dims<B, 2, S, 7>> {
  %a = graph.concat %f, %f {axis = 2 : i64} : (tensor<?x?x2xf32, #graph.dims<B, S, 2>>, tensor<?x?x2xf32, #graph.dims<B, S, 2>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %c0 = graph.cos %a : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %s0 = graph.sin %a : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %c = graph.reshape %c0 : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>
  %s = graph.reshape %s0 : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>
  %x = graph.slice %w {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x2x?x7xf32, #graph.dims<B, 2, S, 7>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %x1 = graph.slice %w {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x2x?x7xf32, #graph.dims<B, 2, S, 7>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %x2 = graph.slice %w {starts = #graph.dims<0, 0, 0, 2>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x2x?x7xf32, #graph.dims<B, 2, S, 7>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %n = graph.neg %x2 : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %r = graph.concat %n, %x1 {axis = 3 : i64} : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>, tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %p = graph.mul %x, %c : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %q = graph.mul %r, %s : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %t = graph.add %p, %q : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %rest = graph.slice %w {starts = #graph.dims<0, 0, 0, 4>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x2x?x7xf32, #graph.dims<B, 2, S, 7>>) -> tensor<?x2x?x3xf32, #graph.dims<B, 2, S, 3>>
  %y = graph.concat %t, %rest {axis = 3 : i64} : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x2x?x3xf32, #graph.dims<B, 2, S, 3>>) -> tensor<?x2x?x7xf32, #graph.dims<B, 2, S, 7>>
  return %y : tensor<?x2x?x7xf32, #graph.dims<B, 2, S, 7>>
}

// -----

// Halves that are not those of what is multiplied by the cosines.

// CHECK-LABEL: @partial_of_others
// CHECK-NOT: graph.rotary
func.func @partial_of_others(%w: tensor<?x2x?x7xf32, #graph.dims<B, 2, S, 7>>, %f: tensor<?x?x2xf32, #graph.dims<B, S, 2>>) -> tensor<?x2x?x7xf32, #graph.dims<B, 2, S, 7>> {
  %a = graph.concat %f, %f {axis = 2 : i64} : (tensor<?x?x2xf32, #graph.dims<B, S, 2>>, tensor<?x?x2xf32, #graph.dims<B, S, 2>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %c0 = graph.cos %a : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %s0 = graph.sin %a : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %c = graph.reshape %c0 : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>
  %s = graph.reshape %s0 : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>
  %x = graph.slice %w {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x2x?x7xf32, #graph.dims<B, 2, S, 7>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %x1 = graph.slice %w {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x2x?x7xf32, #graph.dims<B, 2, S, 7>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %x2 = graph.slice %w {starts = #graph.dims<0, 0, 0, 3>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x2x?x7xf32, #graph.dims<B, 2, S, 7>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %n = graph.neg %x2 : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %r = graph.concat %n, %x1 {axis = 3 : i64} : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>, tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %p = graph.mul %x, %c : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %q = graph.mul %r, %s : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %t = graph.add %p, %q : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %rest = graph.slice %w {starts = #graph.dims<0, 0, 0, 4>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x2x?x7xf32, #graph.dims<B, 2, S, 7>>) -> tensor<?x2x?x3xf32, #graph.dims<B, 2, S, 3>>
  %y = graph.concat %t, %rest {axis = 3 : i64} : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x2x?x3xf32, #graph.dims<B, 2, S, 3>>) -> tensor<?x2x?x7xf32, #graph.dims<B, 2, S, 7>>
  return %y : tensor<?x2x?x7xf32, #graph.dims<B, 2, S, 7>>
}

// -----

// Heads behind positions: turned in the order of the op.

// CHECK-LABEL: @heads_last
// CHECK:       %[[T:.*]] = graph.transpose %{{.*}} {permutation = array<i64: 0, 2, 1, 3>}
// CHECK-NEXT:  %[[Y:.*]] = graph.rotary %[[T]]
// CHECK-NEXT:  graph.transpose %[[Y]] {permutation = array<i64: 0, 2, 1, 3>}
func.func @heads_last(%x: tensor<?x?x2x4xf32, #graph.dims<B, S, 2, 4>>, %f: tensor<?x?x2xf32, #graph.dims<B, S, 2>>) -> tensor<?x?x2x4xf32, #graph.dims<B, S, 2, 4>> {
  %a = graph.concat %f, %f {axis = 2 : i64} : (tensor<?x?x2xf32, #graph.dims<B, S, 2>>, tensor<?x?x2xf32, #graph.dims<B, S, 2>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %c0 = graph.cos %a : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %s0 = graph.sin %a : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %c = graph.reshape %c0 : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x?x1x4xf32, #graph.dims<B, S, 1, 4>>
  %s = graph.reshape %s0 : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x?x1x4xf32, #graph.dims<B, S, 1, 4>>
  %x1 = graph.slice %x {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x?x2x4xf32, #graph.dims<B, S, 2, 4>>) -> tensor<?x?x2x2xf32, #graph.dims<B, S, 2, 2>>
  %x2 = graph.slice %x {starts = #graph.dims<0, 0, 0, 2>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x?x2x4xf32, #graph.dims<B, S, 2, 4>>) -> tensor<?x?x2x2xf32, #graph.dims<B, S, 2, 2>>
  %n = graph.neg %x2 : (tensor<?x?x2x2xf32, #graph.dims<B, S, 2, 2>>) -> tensor<?x?x2x2xf32, #graph.dims<B, S, 2, 2>>
  %r = graph.concat %n, %x1 {axis = 3 : i64} : (tensor<?x?x2x2xf32, #graph.dims<B, S, 2, 2>>, tensor<?x?x2x2xf32, #graph.dims<B, S, 2, 2>>) -> tensor<?x?x2x4xf32, #graph.dims<B, S, 2, 4>>
  %p = graph.mul %x, %c : (tensor<?x?x2x4xf32, #graph.dims<B, S, 2, 4>>, tensor<?x?x1x4xf32, #graph.dims<B, S, 1, 4>>) -> tensor<?x?x2x4xf32, #graph.dims<B, S, 2, 4>>
  %q = graph.mul %r, %s : (tensor<?x?x2x4xf32, #graph.dims<B, S, 2, 4>>, tensor<?x?x1x4xf32, #graph.dims<B, S, 1, 4>>) -> tensor<?x?x2x4xf32, #graph.dims<B, S, 2, 4>>
  %y = graph.add %p, %q : (tensor<?x?x2x4xf32, #graph.dims<B, S, 2, 4>>, tensor<?x?x2x4xf32, #graph.dims<B, S, 2, 4>>) -> tensor<?x?x2x4xf32, #graph.dims<B, S, 2, 4>>
  return %y : tensor<?x?x2x4xf32, #graph.dims<B, S, 2, 4>>
}

// -----

// The table of cosines is multiplied by the turned halves: the op says so too.

// CHECK-LABEL: @sine_first
// CHECK-DAG:   %[[C:.*]] = graph.cos
// CHECK-DAG:   %[[S:.*]] = graph.sin
// CHECK:       graph.rotary %{{.*}}, %[[S]], %[[C]]
func.func @sine_first(%x: tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, %f: tensor<?x?x2xf32, #graph.dims<B, S, 2>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>> {
  %a = graph.concat %f, %f {axis = 2 : i64} : (tensor<?x?x2xf32, #graph.dims<B, S, 2>>, tensor<?x?x2xf32, #graph.dims<B, S, 2>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %c0 = graph.cos %a : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %s0 = graph.sin %a : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %c = graph.reshape %c0 : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>
  %s = graph.reshape %s0 : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>
  %x1 = graph.slice %x {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %x2 = graph.slice %x {starts = #graph.dims<0, 0, 0, 2>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %n = graph.neg %x2 : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %r = graph.concat %n, %x1 {axis = 3 : i64} : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>, tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %p = graph.mul %x, %s : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %q = graph.mul %r, %c : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %y = graph.add %p, %q : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  return %y : tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
}

// -----

// Angles that are rounded to f16 stay so: a far position is not made exact.

// CHECK-LABEL: @half_angles
// CHECK:       %[[A:.*]] = graph.mul %{{.*}} -> tensor<?x?x2xf16
// CHECK:       %[[F:.*]] = graph.cast %[[A]] {{.*}} -> tensor<?x?x2xf32
// CHECK-DAG:   %[[C:.*]] = graph.cos %[[F]]
// CHECK-DAG:   %[[S:.*]] = graph.sin %[[F]]
// CHECK:       graph.rotary %{{.*}}, %[[C]], %[[S]] {interleaved = false}
func.func @half_angles(%x: tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, %at: tensor<?x?x1xf16, #graph.dims<B, S, 1>>, %inverse: tensor<2xf16>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>> {
  %h = graph.mul %at, %inverse : (tensor<?x?x1xf16, #graph.dims<B, S, 1>>, tensor<2xf16>) -> tensor<?x?x2xf16, #graph.dims<B, S, 2>>
  %f = graph.cast %h : (tensor<?x?x2xf16, #graph.dims<B, S, 2>>) -> tensor<?x?x2xf32, #graph.dims<B, S, 2>>
  %a = graph.concat %f, %f {axis = 2 : i64} : (tensor<?x?x2xf32, #graph.dims<B, S, 2>>, tensor<?x?x2xf32, #graph.dims<B, S, 2>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %c0 = graph.cos %a : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %s0 = graph.sin %a : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %c = graph.reshape %c0 : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>
  %s = graph.reshape %s0 : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>
  %x1 = graph.slice %x {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %x2 = graph.slice %x {starts = #graph.dims<0, 0, 0, 2>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %n = graph.neg %x2 : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %r = graph.concat %n, %x1 {axis = 3 : i64} : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>, tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %p = graph.mul %x, %c : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %q = graph.mul %r, %s : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %y = graph.add %p, %q : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  return %y : tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
}

// -----

// The second half is negated and stays second: another rotation.

// CHECK-LABEL: @negated_second
// CHECK-NOT:   graph.rotary
// WHY: remark: not a rotation: what is negated and joined are not the halves of one tensor
func.func @negated_second(%x: tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, %f: tensor<?x?x2xf32, #graph.dims<B, S, 2>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>> {
  %a = graph.concat %f, %f {axis = 2 : i64} : (tensor<?x?x2xf32, #graph.dims<B, S, 2>>, tensor<?x?x2xf32, #graph.dims<B, S, 2>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %c0 = graph.cos %a : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %s0 = graph.sin %a : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %c = graph.reshape %c0 : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>
  %s = graph.reshape %s0 : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>
  %x1 = graph.slice %x {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %x2 = graph.slice %x {starts = #graph.dims<0, 0, 0, 2>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %n = graph.neg %x2 : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %r = graph.concat %x1, %n {axis = 3 : i64} : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>, tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %p = graph.mul %x, %c : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %q = graph.mul %r, %s : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %y = graph.add %p, %q : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  return %y : tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
}

// -----

// The halves of the table are two tensors.

// CHECK-LABEL: @two_frequencies
// CHECK-NOT:   graph.rotary
// WHY: remark: not a rotation: the halves of a table are not proven equal
func.func @two_frequencies(%x: tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, %f: tensor<?x?x2xf32, #graph.dims<B, S, 2>>, %g: tensor<?x?x2xf32, #graph.dims<B, S, 2>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>> {
  %a = graph.concat %f, %g {axis = 2 : i64} : (tensor<?x?x2xf32, #graph.dims<B, S, 2>>, tensor<?x?x2xf32, #graph.dims<B, S, 2>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %c0 = graph.cos %a : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %s0 = graph.sin %a : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %c = graph.reshape %c0 : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>
  %s = graph.reshape %s0 : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>
  %x1 = graph.slice %x {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %x2 = graph.slice %x {starts = #graph.dims<0, 0, 0, 2>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %n = graph.neg %x2 : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %r = graph.concat %n, %x1 {axis = 3 : i64} : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>, tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %p = graph.mul %x, %c : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %q = graph.mul %r, %s : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %y = graph.add %p, %q : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  return %y : tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
}

// -----

// One element and three are no halves.

// CHECK-LABEL: @unequal
// CHECK-NOT:   graph.rotary
func.func @unequal(%x: tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, %f: tensor<?x?x2xf32, #graph.dims<B, S, 2>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>> {
  %a = graph.concat %f, %f {axis = 2 : i64} : (tensor<?x?x2xf32, #graph.dims<B, S, 2>>, tensor<?x?x2xf32, #graph.dims<B, S, 2>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %c0 = graph.cos %a : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %s0 = graph.sin %a : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %c = graph.reshape %c0 : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>
  %s = graph.reshape %s0 : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>
  %x1 = graph.slice %x {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x3xf32, #graph.dims<B, 2, S, 3>>
  %x2 = graph.slice %x {starts = #graph.dims<0, 0, 0, 3>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x1xf32, #graph.dims<B, 2, S, 1>>
  %n = graph.neg %x2 : (tensor<?x2x?x1xf32, #graph.dims<B, 2, S, 1>>) -> tensor<?x2x?x1xf32, #graph.dims<B, 2, S, 1>>
  %r = graph.concat %n, %x1 {axis = 3 : i64} : (tensor<?x2x?x1xf32, #graph.dims<B, 2, S, 1>>, tensor<?x2x?x3xf32, #graph.dims<B, 2, S, 3>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %p = graph.mul %x, %c : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %q = graph.mul %r, %s : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %y = graph.add %p, %q : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  return %y : tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
}

// -----

// Even and odd elements in tables of halves.

// CHECK-LABEL: @interleaved_elements_of_halves
// CHECK-NOT:   graph.rotary
// WHY: remark: not a rotation: what is negated and joined are not the halves of one tensor
func.func @interleaved_elements_of_halves(%x: tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, %f: tensor<?x?x2xf32, #graph.dims<B, S, 2>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>> {
  %a = graph.concat %f, %f {axis = 2 : i64} : (tensor<?x?x2xf32, #graph.dims<B, S, 2>>, tensor<?x?x2xf32, #graph.dims<B, S, 2>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %c0 = graph.cos %a : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %s0 = graph.sin %a : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %c = graph.reshape %c0 : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>
  %s = graph.reshape %s0 : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>
  %x1 = graph.slice %x {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 2>} : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %x2 = graph.slice %x {starts = #graph.dims<0, 0, 0, 1>, steps = #graph.dims<1, 1, 1, 2>} : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %n = graph.neg %x2 : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %r = graph.concat %n, %x1 {axis = 3 : i64} : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>, tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %p = graph.mul %x, %c : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %q = graph.mul %r, %s : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %y = graph.add %p, %q : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  return %y : tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
}

// -----

// The halves are of one tensor and another is multiplied by the cosines.

// CHECK-LABEL: @two_tensors
// CHECK-NOT:   graph.rotary
// WHY: remark: not a rotation: what is multiplied by the cosines is not what was turned
func.func @two_tensors(%x: tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, %z: tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, %f: tensor<?x?x2xf32, #graph.dims<B, S, 2>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>> {
  %a = graph.concat %f, %f {axis = 2 : i64} : (tensor<?x?x2xf32, #graph.dims<B, S, 2>>, tensor<?x?x2xf32, #graph.dims<B, S, 2>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %c0 = graph.cos %a : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %s0 = graph.sin %a : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, S, 4>>
  %c = graph.reshape %c0 : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>
  %s = graph.reshape %s0 : (tensor<?x?x4xf32, #graph.dims<B, S, 4>>) -> tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>
  %x1 = graph.slice %x {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %x2 = graph.slice %x {starts = #graph.dims<0, 0, 0, 2>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %n = graph.neg %x2 : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %r = graph.concat %n, %x1 {axis = 3 : i64} : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>, tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %p = graph.mul %z, %c : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %q = graph.mul %r, %s : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x1x?x4xf32, #graph.dims<B, 1, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %y = graph.add %p, %q : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  return %y : tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
}

// -----

// As many positions as the tables have must be proven to be those of x.

// CHECK-LABEL: @other_positions
// CHECK-NOT:   graph.rotary
// WHY: remark: not a rotation: the sizes of the tables are not proven to fit the input
func.func @other_positions(%x: tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, %f: tensor<?x?x2xf32, #graph.dims<B, Q, 2>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, broadcast(S, Q), 4>> {
  %a = graph.concat %f, %f {axis = 2 : i64} : (tensor<?x?x2xf32, #graph.dims<B, Q, 2>>, tensor<?x?x2xf32, #graph.dims<B, Q, 2>>) -> tensor<?x?x4xf32, #graph.dims<B, Q, 4>>
  %c0 = graph.cos %a : (tensor<?x?x4xf32, #graph.dims<B, Q, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, Q, 4>>
  %s0 = graph.sin %a : (tensor<?x?x4xf32, #graph.dims<B, Q, 4>>) -> tensor<?x?x4xf32, #graph.dims<B, Q, 4>>
  %c = graph.reshape %c0 : (tensor<?x?x4xf32, #graph.dims<B, Q, 4>>) -> tensor<?x1x?x4xf32, #graph.dims<B, 1, Q, 4>>
  %s = graph.reshape %s0 : (tensor<?x?x4xf32, #graph.dims<B, Q, 4>>) -> tensor<?x1x?x4xf32, #graph.dims<B, 1, Q, 4>>
  %x1 = graph.slice %x {starts = #graph.dims<0, 0, 0, 0>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %x2 = graph.slice %x {starts = #graph.dims<0, 0, 0, 2>, steps = #graph.dims<1, 1, 1, 1>} : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %n = graph.neg %x2 : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>) -> tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>
  %r = graph.concat %n, %x1 {axis = 3 : i64} : (tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>, tensor<?x2x?x2xf32, #graph.dims<B, 2, S, 2>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>
  %p = graph.mul %x, %c : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x1x?x4xf32, #graph.dims<B, 1, Q, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, broadcast(S, Q), 4>>
  %q = graph.mul %r, %s : (tensor<?x2x?x4xf32, #graph.dims<B, 2, S, 4>>, tensor<?x1x?x4xf32, #graph.dims<B, 1, Q, 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, broadcast(S, Q), 4>>
  %y = graph.add %p, %q : (tensor<?x2x?x4xf32, #graph.dims<B, 2, broadcast(S, Q), 4>>, tensor<?x2x?x4xf32, #graph.dims<B, 2, broadcast(S, Q), 4>>) -> tensor<?x2x?x4xf32, #graph.dims<B, 2, broadcast(S, Q), 4>>
  return %y : tensor<?x2x?x4xf32, #graph.dims<B, 2, broadcast(S, Q), 4>>
}
