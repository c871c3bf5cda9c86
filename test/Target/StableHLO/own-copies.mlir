// RUN: bagua-translate --import-stablehlo %s 2>/dev/null | FileCheck %s
// RUN: bagua-translate --import-stablehlo %s --summary 2>/dev/null | FileCheck %s --check-prefix=SUMMARY
// RUN: bagua-translate --import-stablehlo %s 2>/dev/null | bagua-opt --bagua-strategy=ddp | bagua-translate --export-stablehlo --original=%s - | FileCheck %s --check-prefix=BACK

// A pmap gives each rank its own copy of every argument. What the step's own reductions
// keep alike (w), and what their results meet on the way to the next value (the step
// counter, the learning rate), is taken to be one value. What enters a state through
// reductions alone is each rank's own: a key, a param that is never trained, a weight of
// the loss. That they may start equal is no proof.
// CHECK: param %w {{.*}}"w" : tensor<4xf32>
// CHECK-SAME: param %frozen {{.*}}"frozen" varies [data]
// CHECK-SAME: optimizer %count {{.*}}"count" : tensor<f32>
// CHECK-SAME: buffer %key {{.*}}"key" varies [data]
// CHECK-SAME: batch %weight {{.*}}"weight" : tensor<f32>
// CHECK-SAME: input %rate {{.*}}"rate" : tensor<f32>

// The mean of the gradient is the gradient's.
// CHECK: grad "w"

// What is reduced of copies stays reduced, also where the copies are taken to be alike.
// CHECK: %[[SUM:.*]] = bagua.compute {{.*}}"key"(%key)
// CHECK: bagua.all_reduce sum %[[SUM]] over [data]
// CHECK: %[[W:.*]] = bagua.compute {{.*}}"w"(%w) varies [data] flops 0 bytes 0
// CHECK: bagua.all_reduce max %[[W]] over [data]
// SUMMARY: 2 params, 1 gradients of 16 bytes, 3 all_reduces
// BACK-COUNT-3: "stablehlo.all_reduce"
module attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(
      %w: tensor<4xf32> {tf.aliasing_output = 0 : i32} loc("params['w']"),
      %frozen: tensor<4xf32> {tf.aliasing_output = 1 : i32} loc("params['frozen']"),
      %count: tensor<f32> {tf.aliasing_output = 2 : i32} loc("opt_state['count']"),
      %key: tensor<4xf32> {tf.aliasing_output = 3 : i32} loc("model_state['key']"),
      %x: tensor<4xf32> loc("x"), %weight: tensor<f32> loc("weight"), %rate: tensor<f32> loc("rate"))
      -> (tensor<4xf32> {jax.result_info = "[0]['w']"}, tensor<4xf32> {jax.result_info = "[0]['frozen']"},
          tensor<f32> {jax.result_info = "[1]['count']"}, tensor<4xf32> {jax.result_info = "[2]['key']"},
          tensor<4xf32> {jax.result_info = "[3]"}, tensor<4xf32> {jax.result_info = "[4]"}) {
    %spread = "stablehlo.broadcast_in_dim"(%weight) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %a = "stablehlo.multiply"(%x, %spread) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %b = "stablehlo.multiply"(%a, %frozen) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %g = "stablehlo.multiply"(%b, %key) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %s = "stablehlo.all_reduce"(%g) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %t = "stablehlo.add"(%l, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%t) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %two = "stablehlo.constant"() <{value = dense<2.0> : tensor<4xf32>}> : () -> tensor<4xf32>
    %mean = "stablehlo.divide"(%s, %two) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %decayed = "stablehlo.divide"(%rate, %count) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %size = "stablehlo.broadcast_in_dim"(%decayed) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %change = "stablehlo.multiply"(%size, %mean) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %next = "stablehlo.subtract"(%w, %change) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %one = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
    %counted = "stablehlo.add"(%count, %one) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %later = "stablehlo.sine"(%key) : (tensor<4xf32>) -> tensor<4xf32>
    %keys = "stablehlo.all_reduce"(%key) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %t = "stablehlo.add"(%l, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%t) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %largest = "stablehlo.all_reduce"(%w) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %t = "stablehlo.maximum"(%l, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%t) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    return %next, %frozen, %counted, %later, %keys, %largest : tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}
