// RUN: bagua-translate --import-stablehlo %s 2>/dev/null | FileCheck %s

// A loop that only measures says nothing of gradients: as in any step that reduces none, the plan is to.
// CHECK: bagua.compute {{.*}} communicates
// CHECK: -> (tensor<{{.*}}> grad "w")

module @e attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%w: tensor<4x4xf32> {tf.aliasing_output = 0 : i32} loc("params['w']"), %x: tensor<4x4xf32> loc("batch['x']")) -> (tensor<4x4xf32> {jax.result_info = "[0]['w']"}, tensor<4x4xf32> {jax.result_info = "[1]"}) {
    %mt = "stablehlo.while"(%x) ({
    ^bb0(%v: tensor<4x4xf32>):
      %cc = "stablehlo.constant"() <{value = dense<false> : tensor<i1>}> : () -> tensor<i1>
      "stablehlo.return"(%cc) : (tensor<i1>) -> ()
    }, {
    ^bb0(%v: tensor<4x4xf32>):
    %u = "stablehlo.all_reduce"(%v) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
      "stablehlo.return"(%u) : (tensor<4x4xf32>) -> ()
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %p = "stablehlo.multiply"(%w, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %e = "stablehlo.constant"() <{value = dense<0.001> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
    %z = "stablehlo.multiply"(%p, %e) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %n = "stablehlo.subtract"(%w, %z) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    return %n, %mt : tensor<4x4xf32>, tensor<4x4xf32>
  }
}
