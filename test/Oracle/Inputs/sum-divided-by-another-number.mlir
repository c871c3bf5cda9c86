// handled
// A sum over two ranks that is divided by three: a multiple of a mean, and the division is the step's own.
module @third attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32, mhlo.is_same_data_across_replicas = true} loc("params['w']"), %x: tensor<4xf32> loc("batch['x']")) -> tensor<4xf32> {
    %three = "stablehlo.constant"() <{value = dense<3.0> : tensor<4xf32>}> : () -> tensor<4xf32>
    %g = "stablehlo.multiply"(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %t = "stablehlo.all_reduce"(%g) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%e: tensor<f32>, %o: tensor<f32>):
      %v = "stablehlo.add"(%e, %o) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%v) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %d = "stablehlo.divide"(%t, %three) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %n = "stablehlo.subtract"(%w, %d) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %n : tensor<4xf32>
  }
}
