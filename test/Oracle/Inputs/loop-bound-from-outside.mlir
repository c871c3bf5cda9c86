// refused: expected no communication of the program's own between a gradient or a state and the next states, found that of "while"
// The loop ends at a number from outside, not at the value that it carries in the same place.
module @m attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%k: tensor<i32> {mhlo.is_same_data_across_replicas = true} loc("batch['k']"), %w: tensor<4xf32> {tf.aliasing_output = 0 : i32, mhlo.is_same_data_across_replicas = true} loc("params['w']"), %x: tensor<4xf32> loc("batch['x']")) -> tensor<4xf32> {
    %first = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %four = "stablehlo.constant"() <{value = dense<4> : tensor<i32>}> : () -> tensor<i32>
    %k3 = "stablehlo.remainder"(%k, %four) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %r:4 = "stablehlo.while"(%four, %w, %first, %x) ({
    ^bb0(%z: tensor<i32>, %ww: tensor<4xf32>, %i: tensor<i32>, %xx: tensor<4xf32>):
      %c = "stablehlo.compare"(%i, %k) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%c) : (tensor<i1>) -> ()
    }, {
    ^bb0(%z: tensor<i32>, %ww: tensor<4xf32>, %i: tensor<i32>, %xx: tensor<4xf32>):
      %one = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %g = "stablehlo.multiply"(%xx, %ww) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %t = "stablehlo.all_reduce"(%g) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
      ^bb0(%et: tensor<f32>, %ot: tensor<f32>):
        %vt = "stablehlo.maximum"(%et, %ot) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%vt) : (tensor<f32>) -> ()
      }) : (tensor<4xf32>) -> tensor<4xf32>
      %j = "stablehlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%z, %t, %j, %xx) : (tensor<i32>, tensor<4xf32>, tensor<i32>, tensor<4xf32>) -> ()
    }) : (tensor<i32>, tensor<4xf32>, tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>, tensor<i32>, tensor<4xf32>)
    %half = "stablehlo.constant"() <{value = dense<0.125> : tensor<4xf32>}> : () -> tensor<4xf32>
    %upd = "stablehlo.multiply"(%half, %r#1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %new = "stablehlo.subtract"(%w, %upd) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %new : tensor<4xf32>
  }
}
