// RUN: bagua-translate --import-stablehlo %s -o %t.step
// RUN: bagua-opt --bagua-strategy=ddp %t.step -o %t.ddp
// RUN: bagua-translate --export-stablehlo --original=%s %t.ddp -o %t.written
// RUN: FileCheck %s < %t.written

// The module with one all_reduce of a bucket in the place of two: the gradients
// one behind the other, their mean, and what each update used to get.

// CHECK-NOT: "update"
// CHECK: sym_name = "main"
// CHECK: %[[GV:.*]] = "stablehlo.dot_general"
// CHECK: %[[GW:.*]] = "stablehlo.reduce"
// CHECK: %[[FLAT:.*]] = "stablehlo.reshape"(%[[GV]]) : (tensor<2x4xf32>) -> tensor<8xf32>
// CHECK: %[[BUCKET:.*]] = "stablehlo.concatenate"(%[[FLAT]], %[[GW]]) {dimension = 0 : i64}
// CHECK: %[[SUM:.*]] = "stablehlo.all_reduce"(%[[BUCKET]])
// CHECK: replica_groups = dense<{{\[\[}}0, 1]]>
// CHECK-NOT: stablehlo.all_reduce
// CHECK: %[[TWO:.*]] = "stablehlo.constant"() {value = dense<2.000000e+00>
// CHECK: %[[MEAN:.*]] = "stablehlo.divide"(%[[SUM]], %[[TWO]])
// CHECK: %[[MV:.*]] = "stablehlo.slice"(%[[MEAN]]) {limit_indices = array<i64: 8>, start_indices = array<i64: 0>
// CHECK: %[[MW:.*]] = "stablehlo.slice"(%[[MEAN]]) {limit_indices = array<i64: 12>, start_indices = array<i64: 8>
// CHECK: %[[SHAPED:.*]] = "stablehlo.reshape"(%[[MV]]) : (tensor<8xf32>) -> tensor<2x4xf32>
// CHECK: %[[V:.*]] = "stablehlo.subtract"(%{{.*}}, %[[SHAPED]])
// CHECK: %[[D:.*]] = "stablehlo.multiply"(%{{.*}}, %[[MW]])
// CHECK: %[[W:.*]] = "stablehlo.subtract"(%{{.*}}, %[[D]])
// CHECK: "func.return"(%[[V]], %[[W]])
module @tiny attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func private @update(%w: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4xf32> {
    %rate = "stablehlo.constant"() <{value = dense<0.1> : tensor<4xf32>}> : () -> tensor<4xf32>
    %d = "stablehlo.multiply"(%rate, %g) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %next = "stablehlo.subtract"(%w, %d) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %next : tensor<4xf32>
  }
  func.func public @main(%v: tensor<2x4xf32> {tf.aliasing_output = 0 : i32} loc("params['v']"), %w: tensor<4xf32> {tf.aliasing_output = 1 : i32} loc("params['w']"),
                         %x: tensor<3x4xf32> loc("batch['x']"), %y: tensor<3x2xf32> loc("batch['y']"))
      -> (tensor<2x4xf32> {jax.result_info = "[0]['v']"}, tensor<4xf32> {jax.result_info = "[0]['w']"}) {
    %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %two4 = "stablehlo.constant"() <{value = dense<2.0> : tensor<4xf32>}> : () -> tensor<4xf32>
    %two8 = "stablehlo.constant"() <{value = dense<2.0> : tensor<2x4xf32>}> : () -> tensor<2x4xf32>
    %gv = "stablehlo.dot_general"(%y, %x) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>}> : (tensor<3x2xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %gw = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<3x4xf32>, tensor<f32>) -> tensor<4xf32>
    %sums:2 = "stablehlo.all_reduce"(%gv, %gw) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>)
    %mv = "stablehlo.divide"(%sums#0, %two8) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %mw = "stablehlo.divide"(%sums#1, %two4) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %vn = "stablehlo.subtract"(%v, %mv) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %wn = call @update(%w, %mw) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %vn, %wn : tensor<2x4xf32>, tensor<4xf32>
  }
}
