// handled
// A reduce_scatter uses a sum that also updates a param: it needs the whole sum, which is no gradient that waits for its reduction.
module @m attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32, mhlo.is_same_data_across_replicas = true} loc("params['w']"), %p: tensor<2xf32> {tf.aliasing_output = 1 : i32} loc("params['p']"), %x: tensor<4xf32> loc("batch['x']")) -> (tensor<4xf32>, tensor<2xf32>) {
    %m = "stablehlo.multiply"(%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %s = "stablehlo.all_reduce"(%m) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%c) : (tensor<f32>) -> ()
      }) : (tensor<4xf32>) -> tensor<4xf32>
    %h = "stablehlo.constant"() <{value = dense<0.125> : tensor<4xf32>}> : () -> tensor<4xf32>
    %u = "stablehlo.multiply"(%h, %s) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %w2 = "stablehlo.subtract"(%w, %u) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %sx = "stablehlo.multiply"(%s, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %r = "stablehlo.reduce_scatter"(%sx) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%c) : (tensor<f32>) -> ()
      }) : (tensor<4xf32>) -> tensor<2xf32>
    %h2 = "stablehlo.constant"() <{value = dense<0.125> : tensor<2xf32>}> : () -> tensor<2xf32>
    %u2 = "stablehlo.multiply"(%h2, %r) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %p2 = "stablehlo.subtract"(%p, %u2) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    return %w2, %p2 : tensor<4xf32>, tensor<2xf32>
  }
}
