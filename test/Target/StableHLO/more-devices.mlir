// RUN: bagua-translate --import-stablehlo %s --cluster=gpu=8 2>/dev/null | FileCheck %s

// Of more devices than the step was exported for, nobody knows what they compute of their places.
// CHECK: bagua.compute {{.*}} varies [gpu]

module @e attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%w: tensor<4x4xf32> {tf.aliasing_output = 0 : i32} loc("params['w']"), %x: tensor<4x4xf32> loc("batch['x']")) -> (tensor<4x4xf32> {jax.result_info = "[0]['w']"}) {
    %p = "stablehlo.multiply"(%w, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %r = "stablehlo.all_reduce"(%p) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %two = "stablehlo.constant"() <{value = dense<2.0> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
    %g = "stablehlo.divide"(%r, %two) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %id = "stablehlo.replica_id"() : () -> tensor<ui32>
    %k = "stablehlo.constant"() <{value = dense<2> : tensor<ui32>}> : () -> tensor<ui32>
    %b = "stablehlo.compare"(%id, %k) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    %s = "stablehlo.select"(%b, %g, %w) : (tensor<i1>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %e = "stablehlo.constant"() <{value = dense<0.001> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
    %z = "stablehlo.multiply"(%s, %e) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %n = "stablehlo.subtract"(%w, %z) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    return %n : tensor<4x4xf32>
  }
}
