// handled
// The gradient's sum is started, and waited for after other work.
module @started attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32, mhlo.is_same_data_across_replicas = true} loc("params['w']"), %x: tensor<4xf32> loc("batch['x']")) -> (tensor<4xf32> {jax.result_info = "[0]['w']"}, tensor<4xf32> {jax.result_info = "[1]"}) {
    %t = "stablehlo.multiply"(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %f = "stablehlo.async_start"(%t) ({
    ^bb0(%i: tensor<4xf32>):
      %s = "stablehlo.all_reduce"(%i) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%c) : (tensor<f32>) -> ()
      }) : (tensor<4xf32>) -> tensor<4xf32>
      "stablehlo.return"(%s) : (tensor<4xf32>) -> ()
    }) : (tensor<4xf32>) -> !stablehlo.future<tensor<4xf32>>
    %loss = "stablehlo.sine"(%t) : (tensor<4xf32>) -> tensor<4xf32>
    %sum = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<4xf32>>) -> tensor<4xf32>
    %two = "stablehlo.constant"() <{value = dense<2.0> : tensor<4xf32>}> : () -> tensor<4xf32>
    %mean = "stablehlo.divide"(%sum, %two) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %next = "stablehlo.subtract"(%w, %mean) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %next, %loss : tensor<4xf32>, tensor<4xf32>
  }
}
