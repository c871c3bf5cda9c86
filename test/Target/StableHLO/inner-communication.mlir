// RUN: bagua-translate --import-stablehlo %s 2>&1 | FileCheck %s
// RUN: bagua-translate --import-stablehlo %s 2>/dev/null | bagua-opt --bagua-strategy=ddp | bagua-translate --export-stablehlo --original=%s - | FileCheck %s --check-prefix=BACK

// How often a loop turns is not in the graph, so its communication stays in it, and a
// remark says so: one op, that communicates by itself. Behind gradients and states this
// is an error of the graph proof. What ranks have alike a reduction leaves so; a permute
// does not.

// CHECK: remark: 'stablehlo.all_reduce' stays in the body of 'stablehlo.while', which communicates by itself: no pass plans it
// CHECK: remark: 'stablehlo.collective_permute' stays in the body of 'stablehlo.while'
// CHECK: bagua.compute {{.*}} "while"(%batch.x) communicates flops
// BACK: "stablehlo.while"
// BACK: "stablehlo.all_reduce"
// CHECK: bagua.compute {{.*}} "while"(%{{.*}}) communicates varies [data] flops
module attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32} loc("params['w']"), %x: tensor<4xf32> loc("batch['x']")) -> tensor<4xf32> {
    %r = "stablehlo.while"(%x) ({
    ^bb0(%v: tensor<4xf32>):
      %c = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
      "stablehlo.return"(%c) : (tensor<i1>) -> ()
    }, {
    ^bb0(%v: tensor<4xf32>):
    %u = "stablehlo.all_reduce"(%v) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
      "stablehlo.return"(%u) : (tensor<4xf32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %p = "stablehlo.while"(%r) ({
    ^bb0(%v: tensor<4xf32>):
      %c = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
      "stablehlo.return"(%c) : (tensor<i1>) -> ()
    }, {
    ^bb0(%v: tensor<4xf32>):
      %u = "stablehlo.collective_permute"(%v) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
      "stablehlo.return"(%u) : (tensor<4xf32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %n = "stablehlo.subtract"(%w, %p) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %n : tensor<4xf32>
  }
}
