// handled
module @a4 attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32} loc("params['w']"), %x: tensor<3x4xf32> loc("batch['x']"), %k: tensor<f32> loc("batch['weight']")) -> (tensor<4xf32> {jax.result_info = "[0]['w']"}) {
    %v1 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %v2 = "stablehlo.reduce"(%x, %v1) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<3x4xf32>, tensor<f32>) -> tensor<4xf32>
    %v3 = "stablehlo.broadcast_in_dim"(%k) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %v4 = "stablehlo.multiply"(%v2, %v3) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %v5 = "stablehlo.all_reduce"(%k) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<f32>) -> tensor<f32>
    %v6 = "stablehlo.all_reduce"(%v4) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %v7 = "stablehlo.broadcast_in_dim"(%v5) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %v8 = "stablehlo.divide"(%v6, %v7) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %v9 = "stablehlo.constant"() <{value = dense<0.1> : tensor<4xf32>}> : () -> tensor<4xf32>
    %v10 = "stablehlo.multiply"(%v9, %v8) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %v11 = "stablehlo.subtract"(%w, %v10) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %v11 : tensor<4xf32>
  }
}
