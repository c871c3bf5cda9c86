// RUN: bagua-translate --import-stablehlo %s | FileCheck %s
// RUN: bagua-translate --import-stablehlo %s | bagua-opt --bagua-strategy=ddp | bagua-translate --export-stablehlo --original=%s - | FileCheck %s --check-prefix=BACK

// A step that scatters and gathers itself, and sends on what it computes: ZeRO along
// `data`, a pipeline along `stage`. Pieces and who sends to whom follow from the
// groups of devices; the rank's own place is a number that only the axes it varies
// along are left of. What a program gives of its arguments it gives as it is.

// CHECK: axes [#bagua.axis<"data", size = 2, {{.*}}, #bagua.axis<"stage", size = 2,
// CHECK: (param %w loc({{.*}}) "w" varies [data, stage] : tensor<2x4xf32>
// CHECK: %[[P:.*]] = bagua.compute forward "w"(%w) flops 0 bytes 0
// CHECK: %[[W:.*]] = bagua.all_gather %[[P]] over [data] concat 1 {{.*}} : tensor<2x4xf32> -> tensor<2x8xf32>
// CHECK: %[[N:.*]] = bagua.permute %{{.*}} over [stage] pairs [0 -> 1] {{.*}} : tensor<2x8xf32>
// CHECK: %[[S:.*]] = bagua.compute backward "select"(%[[N]], %[[W]]) varies [stage]
// CHECK: %[[G:.*]] = bagua.compute backward "multiply"(%[[S]], %{{.*}})
// CHECK: bagua.reduce_scatter sum %[[G]] over [data] split 1 {{.*}} : tensor<2x8xf32> -> tensor<2x4xf32>

// BACK: "stablehlo.all_gather"(%{{.*}}) {all_gather_dim = 1 : i64, {{.*}}replica_groups = dense<{{.}}[0, 2], [1, 3]]> : tensor<2x2xi64>
// BACK: "stablehlo.collective_permute"(%{{.*}}) {{{.*}}source_target_pairs = dense<{{.}}[0, 1], [2, 3]]> : tensor<2x2xi64>
// BACK: "stablehlo.reduce_scatter"(%{{.*}}) ({
// BACK: }) {{{.*}}replica_groups = dense<{{.}}[0, 2], [1, 3]]> : tensor<2x2xi64>, scatter_dimension = 1 : i64
module @zero attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  "sdy.mesh"() <{mesh = #sdy.mesh<["data"=2, "stage"=2]>, sym_name = "mesh"}> : () -> ()
  func.func public @main(%w: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"stage"}, {"data"}]>, tf.aliasing_output = 0 : i32} loc("params['w']"), %x: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>} loc("batch['x']")) -> (tensor<4x8xf32> {jax.result_info = "[0]['w']"}) {
    %n = "sdy.manual_computation"(%w, %x) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{"stage"}, {"data"}]>, <@mesh, [{"data"}, {}]>]>, manual_axes = #sdy<manual_axes{"data", "stage"}>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{"stage"}, {"data"}]>]>}> ({
    ^bb0(%v: tensor<2x4xf32>, %y: tensor<2x8xf32>):
      %one = "stablehlo.constant"() <{value = dense<1> : tensor<ui32>}> : () -> tensor<ui32>
      %two = "stablehlo.constant"() <{value = dense<2> : tensor<ui32>}> : () -> tensor<ui32>
      %id = "stablehlo.partition_id"() : () -> tensor<ui32>
      %stage = "stablehlo.remainder"(%id, %two) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
      %last = "stablehlo.compare"(%stage, %one) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
      %whole = "stablehlo.all_gather"(%v) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<2x4xf32>) -> tensor<2x8xf32>
      %h = "stablehlo.multiply"(%whole, %y) : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
      %got = "stablehlo.collective_permute"(%h) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<2x8xf32>) -> tensor<2x8xf32>
      %mine = "stablehlo.select"(%last, %got, %whole) : (tensor<i1>, tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
      %g = "stablehlo.multiply"(%mine, %y) : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
      %sum = "stablehlo.reduce_scatter"(%g) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, scatter_dimension = 1 : i64, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%s) : (tensor<f32>) -> ()
      }) : (tensor<2x8xf32>) -> tensor<2x4xf32>
      %next = "stablehlo.subtract"(%v, %sum) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
      "sdy.return"(%next) : (tensor<2x4xf32>) -> ()
    }) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return %n : tensor<4x8xf32>
  }
}
