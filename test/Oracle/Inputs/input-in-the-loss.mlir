// handled
module @b5c attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%w: tensor<4xf32> loc("params['w']"), %x: tensor<3x4xf32> loc("batch['x']"), %k: tensor<f32> {mhlo.is_same_data_across_replicas = true} loc("l2")) -> (tensor<4xf32> {jax.result_info = "[0]['w']"}, tensor<f32> {jax.result_info = "[1]['loss']"}) {
    %v1 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %v2 = "stablehlo.reduce"(%x, %v1) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<3x4xf32>, tensor<f32>) -> tensor<4xf32>
    %v3 = "stablehlo.broadcast_in_dim"(%k) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %v4 = "stablehlo.multiply"(%v3, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %v5 = "stablehlo.add"(%v2, %v4) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %v6 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %v7 = "stablehlo.reduce"(%x, %v6) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<3x4xf32>, tensor<f32>) -> tensor<f32>
    %v8 = "stablehlo.all_reduce"(%v7) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<f32>) -> tensor<f32>
    %v9 = "stablehlo.constant"() <{value = dense<2.0> : tensor<f32>}> : () -> tensor<f32>
    %v10 = "stablehlo.divide"(%v8, %v9) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %v11 = "stablehlo.multiply"(%w, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %v12 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %v13 = "stablehlo.reduce"(%v11, %v12) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    %v14 = "stablehlo.multiply"(%k, %v13) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %v15 = "stablehlo.add"(%v10, %v14) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %v16 = "stablehlo.all_reduce"(%v5) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %v17 = "stablehlo.constant"() <{value = dense<2.0> : tensor<4xf32>}> : () -> tensor<4xf32>
    %v18 = "stablehlo.divide"(%v16, %v17) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %v19 = "stablehlo.constant"() <{value = dense<0.1> : tensor<4xf32>}> : () -> tensor<4xf32>
    %v20 = "stablehlo.multiply"(%v19, %v18) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %v21 = "stablehlo.subtract"(%w, %v20) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %v21, %v15 : tensor<4xf32>, tensor<f32>
  }
}
