// RUN: bagua-translate --import-stablehlo %s 2>&1 | FileCheck %s

// A loop is one op. Its cost is that of its body times the turns, 3 here: each
// contracts 4 with 4x4, 2 * 4 * 4 flops. Where the turns are not known, a remark
// says so and one is counted.

// CHECK: remark: {{.*}}'stablehlo.while' has no trip count that is known; its cost is that of one turn
// CHECK: bagua.compute backward "while"({{.*}}) flops 96 bytes
// CHECK: bagua.compute backward "while"({{.*}}) flops 32 bytes {{.*}}grad "w"
module @loops {
  func.func public @main(%w: tensor<4x4xf32> {tf.aliasing_output = 0 : i32} loc("params['w']"), %x: tensor<4x4xf32> loc("batch['x']"), %n: tensor<i32> loc("turns"))
      -> (tensor<4x4xf32> {jax.result_info = "[0]['w']"}) {
    %begin = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %rate = "stablehlo.constant"() <{value = dense<0.1> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
    %v = "stablehlo.slice"(%x) <{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 1, 4>, strides = array<i64: 1, 1>}> : (tensor<4x4xf32>) -> tensor<1x4xf32>
    %known:2 = "stablehlo.while"(%begin, %v) ({
    ^bb0(%i: tensor<i32>, %a: tensor<1x4xf32>):
      %end = "stablehlo.constant"() <{value = dense<3> : tensor<i32>}> : () -> tensor<i32>
      %c = "stablehlo.compare"(%i, %end) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%c) : (tensor<i1>) -> ()
    }, {
    ^bb0(%i: tensor<i32>, %a: tensor<1x4xf32>):
      %one = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %j = "stablehlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %b = "stablehlo.dot_general"(%a, %x) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
      "stablehlo.return"(%j, %b) : (tensor<i32>, tensor<1x4xf32>) -> ()
    }) : (tensor<i32>, tensor<1x4xf32>) -> (tensor<i32>, tensor<1x4xf32>)
    %m = "stablehlo.broadcast_in_dim"(%known#1) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x4xf32>) -> tensor<4x4xf32>
    %unknown:2 = "stablehlo.while"(%begin, %m) ({
    ^bb0(%i: tensor<i32>, %a: tensor<4x4xf32>):
      %c = "stablehlo.compare"(%i, %n) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%c) : (tensor<i1>) -> ()
    }, {
    ^bb0(%i: tensor<i32>, %a: tensor<4x4xf32>):
      %one = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %j = "stablehlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %r = "stablehlo.dot_general"(%v, %x) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
      %b = "stablehlo.broadcast_in_dim"(%r) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x4xf32>) -> tensor<4x4xf32>
      "stablehlo.return"(%j, %b) : (tensor<i32>, tensor<4x4xf32>) -> ()
    }) : (tensor<i32>, tensor<4x4xf32>) -> (tensor<i32>, tensor<4x4xf32>)
    %step = "stablehlo.multiply"(%rate, %unknown#1) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %next = "stablehlo.subtract"(%w, %step) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    return %next : tensor<4x4xf32>
  }
}
