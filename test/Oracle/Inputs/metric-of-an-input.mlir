// handled
module @a16 attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%w: tensor<4xf32> loc("params['w']"), %x: tensor<3x4xf32> loc("batch['x']"), %k: tensor<f32> {mhlo.is_same_data_across_replicas = true} loc("lr")) -> (tensor<4xf32> {jax.result_info = "[0]['w']"}, tensor<f32> {jax.result_info = "[1]['lr']"}) {
    %v1 = "stablehlo.constant"() <{value = dense<0.5> : tensor<f32>}> : () -> tensor<f32>
    %v2 = "stablehlo.multiply"(%k, %v1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %v3 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %v4 = "stablehlo.reduce"(%x, %v3) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<3x4xf32>, tensor<f32>) -> tensor<4xf32>
    %v5 = "stablehlo.all_reduce"(%v4) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %v6 = "stablehlo.constant"() <{value = dense<2.0> : tensor<4xf32>}> : () -> tensor<4xf32>
    %v7 = "stablehlo.divide"(%v5, %v6) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %v8 = "stablehlo.broadcast_in_dim"(%v2) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %v9 = "stablehlo.multiply"(%v8, %v7) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %v10 = "stablehlo.subtract"(%w, %v9) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %v10, %v2 : tensor<4xf32>, tensor<f32>
  }
}
