// handled
// A composite's decomposition, which nothing calls, sums over ranks; it stays the module's, with its function.
module @composite attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32, mhlo.is_same_data_across_replicas = true} loc("params['w']"), %x: tensor<4xf32> loc("batch['x']")) -> (tensor<4xf32> {jax.result_info = "[0]['w']"}, tensor<4xf32> {jax.result_info = "[1]"}) {
    %all = "stablehlo.composite"(%x) <{name = "my.total", decomposition = @total}> : (tensor<4xf32>) -> tensor<4xf32>
    %g = "stablehlo.subtract"(%x, %all) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %t = "stablehlo.multiply"(%g, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %s = "stablehlo.all_reduce"(%t) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%c) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %two = "stablehlo.constant"() <{value = dense<2.0> : tensor<4xf32>}> : () -> tensor<4xf32>
    %mean = "stablehlo.divide"(%s, %two) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %next = "stablehlo.subtract"(%w, %mean) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %next, %all : tensor<4xf32>, tensor<4xf32>
  }
  func.func private @total(%a: tensor<4xf32>) -> tensor<4xf32> {
    %b = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %t = "stablehlo.add"(%l, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%t) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    return %b : tensor<4xf32>
  }
}
