// refused: expected no communication of the program's own between a gradient or a state and the next states, found that of "custom_call" on the way from "w"
// The gradient's mean is exchanged once more before the update, which no plan can see.
module @ragged attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%w: tensor<4x4xf32> {tf.aliasing_output = 0 : i32, mhlo.is_same_data_across_replicas = true} loc("params['w']"), %x: tensor<4x4xf32> loc("batch['x']")) -> (tensor<4x4xf32> {jax.result_info = "[0]['w']"}) {
    %t = "stablehlo.multiply"(%x, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %s = "stablehlo.all_reduce"(%t) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%c) : (tensor<f32>) -> ()
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %two = "stablehlo.constant"() <{value = dense<2.0> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
    %mean = "stablehlo.divide"(%s, %two) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %zeros = "stablehlo.constant"() <{value = dense<0.0> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
    %from = "stablehlo.constant"() <{value = dense<[0, 2]> : tensor<2xi32>}> : () -> tensor<2xi32>
    %size = "stablehlo.constant"() <{value = dense<2> : tensor<2xi32>}> : () -> tensor<2xi32>
    %to = "stablehlo.constant"() <{value = dense<0> : tensor<2xi32>}> : () -> tensor<2xi32>
    %r = "stablehlo.custom_call"(%mean, %zeros, %from, %size, %to, %size) <{api_version = 4 : i32, backend_config = {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}, call_target_name = "ragged_all_to_all"}> : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x4xf32>
    %next = "stablehlo.subtract"(%w, %r) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    return %next : tensor<4x4xf32>
  }
}
