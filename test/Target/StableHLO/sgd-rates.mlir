// RUN: bagua-translate --import-stablehlo %s | FileCheck %s
// RUN: sed 's/"stablehlo.negate"/"stablehlo.tanh"/' %s | bagua-translate --import-stablehlo | FileCheck %s --check-prefix=OTHER

// A rate that is an input may be subtracted, or its negative added, as PyTorch does. What becomes of it otherwise is not one.
// CHECK: bagua.sgd (%{{.*}}) grad %{{.*}} lr %rate {{.*}}: tensor<4xf32>, tensor<f32>
// OTHER-NOT: bagua.sgd
// OTHER: bagua.compute update "add"
module @rates attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32} loc("params['w']"), %rate: tensor<f32> loc("rate"), %x: tensor<4xf32> loc("batch['x']")) -> (tensor<4xf32> {jax.result_info = "[0]['w']"}) {
    %two = "stablehlo.constant"() <{value = dense<2.0> : tensor<4xf32>}> : () -> tensor<4xf32>
    %g = "stablehlo.tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %sum = "stablehlo.all_reduce"(%g) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %mean = "stablehlo.divide"(%sum, %two) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %down = "stablehlo.negate"(%rate) : (tensor<f32>) -> tensor<f32>
    %rates = "stablehlo.broadcast_in_dim"(%down) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %step = "stablehlo.multiply"(%mean, %rates) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %n = "stablehlo.add"(%w, %step) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %n : tensor<4xf32>
  }
}
