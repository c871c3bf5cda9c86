// RUN: bagua-translate --import-stablehlo %s -o %t 2> %t.said && FileCheck %s < %t
// RUN: FileCheck %s --check-prefix=SAID --implicit-check-not=python_cpu_callback < %t.said

// What custom calls are to the importer: docs/Import.md has the table. A call that has a
// mark of communication is communication, whatever its target: its results are each
// rank's own. Communication that some function holds, which an op names, counts as well.

// A known function of its operands is compute, and dropped where nobody uses it.
// CHECK: bagua.compute forward "linear_algebra"(%x) flops
// CHECK-NOT: "unused"
// CHECK: bagua.compute forward "kernel"(%x) flops
// CHECK: bagua.compute forward "pure_callback"(%x) flops
// CHECK: bagua.compute forward "selection"(%x) flops
// An unknown one, too, with a remark.
// CHECK: bagua.compute forward "unknown"(%x) flops
// SAID: remark: {{.*}}'stablehlo.custom_call' @someone_s_gelu is not known; kept as opaque compute
// A print is kept, and makes nothing.
// CHECK: bagua.compute {{.*}}"print"(%x) flops {{.*}} -> ()

// Communication by its name, its channel, its groups, its pairs, its mesh, or by what a kernel says.
// CHECK: bagua.compute forward "ragged"(%x) communicates varies [data]
// SAID: remark: {{.*}}'stablehlo.custom_call' @ragged_all_to_all communicates, or may communicate, in a form that the import does not read: it is kept as it is, and no pass plans it
// CHECK: "start"(%x) communicates varies [data]
// CHECK: "mpi"(%x) communicates varies [data]
// CHECK: "nccl"(%x) communicates varies [data]
// CHECK: "channel"(%x) communicates varies [data]
// CHECK: "groups"(%x) communicates varies [data]
// CHECK: "pairs"(%x) communicates varies [data]
// CHECK: "mesh"(%x) communicates varies [data]
// CHECK: "json"(%x) communicates varies [data]
// CHECK: "remote_kernel"(%x) communicates varies [data]
// CHECK: "remote_gpu_kernel"(%x) communicates varies [data]
// CHECK: "partitioned"(%x) communicates varies [data]
// Who has side effects and is not known to have no others may communicate.
// CHECK: "side_effect"(%x) communicates varies [data]
// CHECK: "io_callback"(%x) communicates varies [data]
// SAID: remark: {{.*}}'stablehlo.custom_call' @xla_ffi_python_cpu_callback communicates, or may communicate

// Communication in what an op names.
// CHECK: "called"(%x) communicates varies [data]
// CHECK: "composite"(%x) communicates
// SAID: remark: {{.*}}'stablehlo.all_reduce' stays in the body of 'stablehlo.composite', which communicates by itself: no pass plans it
// CHECK: "harmless_composite"(%x) flops
// In a loop.
// CHECK: "loop"(%x) communicates varies [data]
// SAID: remark: {{.*}}'stablehlo.custom_call' @ragged_all_to_all stays in the body of 'stablehlo.while', which communicates by itself: no pass plans it
module attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32, mhlo.is_same_data_across_replicas = true} loc("params['w']"), %x: tensor<4xf32> loc("x"))
      -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>,
          tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %a = "stablehlo.custom_call"(%x) <{call_target_name = "lapack_spotrf_ffi"}> : (tensor<4xf32>) -> tensor<4xf32> loc("linear_algebra")
    %unused = "stablehlo.custom_call"(%x) <{call_target_name = "lapack_sgeev_ffi"}> : (tensor<4xf32>) -> tensor<4xf32> loc("unused")
    %b = "stablehlo.custom_call"(%x) <{call_target_name = "tpu_custom_call", backend_config = "{\22custom_call_config\22: {\22body\22: \22TUxJUg==\22, \22has_communication\22: false}}"}> : (tensor<4xf32>) -> tensor<4xf32> loc("kernel")
    %c = "stablehlo.custom_call"(%x) <{call_target_name = "xla_ffi_python_cpu_callback", has_side_effect = false}> : (tensor<4xf32>) -> tensor<4xf32> loc("pure_callback")
    %d = "stablehlo.custom_call"(%x) <{call_target_name = "ApproxTopK", called_computations = [@larger]}> : (tensor<4xf32>) -> tensor<4xf32> loc("selection")
    %e = "stablehlo.custom_call"(%x) <{call_target_name = "someone_s_gelu"}> {mhlo.sharding = "{manual}"} : (tensor<4xf32>) -> tensor<4xf32> loc("unknown")
    "stablehlo.custom_call"(%x) <{call_target_name = "xla_ffi_python_cpu_callback", has_side_effect = true}> : (tensor<4xf32>) -> () loc("print")
    %f = "stablehlo.custom_call"(%x) <{call_target_name = "ragged_all_to_all"}> : (tensor<4xf32>) -> tensor<4xf32> loc("ragged")
    %g = "stablehlo.custom_call"(%x) <{call_target_name = "psum_scatter_start"}> : (tensor<4xf32>) -> tensor<4xf32> loc("start")
    %h = "stablehlo.custom_call"(%x) <{call_target_name = "mpi_bcast_ffi"}> : (tensor<4xf32>) -> tensor<4xf32> loc("mpi")
    %i = "stablehlo.custom_call"(%x) <{call_target_name = "ncclAllReduce"}> : (tensor<4xf32>) -> tensor<4xf32> loc("nccl")
    %j = "stablehlo.custom_call"(%x) <{call_target_name = "fast_sum", backend_config = {channel_id = 1 : i64}}> : (tensor<4xf32>) -> tensor<4xf32> loc("channel")
    %k = "stablehlo.custom_call"(%x) <{call_target_name = "fast_sum", backend_config = {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}}> : (tensor<4xf32>) -> tensor<4xf32> loc("groups")
    %l = "stablehlo.custom_call"(%x) <{call_target_name = "fast_shift"}> {source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<4xf32> loc("pairs")
    %m = "stablehlo.custom_call"(%x) <{call_target_name = "fast_sum", backend_config = {mesh = "data=2"}}> : (tensor<4xf32>) -> tensor<4xf32> loc("mesh")
    %n = "stablehlo.custom_call"(%x) <{call_target_name = "fast_sum", backend_config = "{\22replica_groups\22: [[0, 1]]}"}> : (tensor<4xf32>) -> tensor<4xf32> loc("json")
    %o = "stablehlo.custom_call"(%x) <{call_target_name = "tpu_custom_call", backend_config = "{\22custom_call_config\22: {\22body\22: \22TUxJUg==\22, \22has_communication\22: true, \22collective_id\22: 0}}"}> : (tensor<4xf32>) -> tensor<4xf32> loc("remote_kernel")
    %p = "stablehlo.custom_call"(%x) <{call_target_name = "mosaic_gpu_v2", backend_config = {uses_xla_collective_metadata = true}}> : (tensor<4xf32>) -> tensor<4xf32> loc("remote_gpu_kernel")
    %q = "stablehlo.custom_call"(%x) <{call_target_name = "CustomSPMDPartitioning"}> : (tensor<4xf32>) -> tensor<4xf32> loc("partitioned")
    %r = "stablehlo.custom_call"(%x) <{call_target_name = "someone_s_exchange", has_side_effect = true}> : (tensor<4xf32>) -> tensor<4xf32> loc("side_effect")
    %s = "stablehlo.custom_call"(%x) <{call_target_name = "xla_ffi_python_cpu_callback", has_side_effect = true}> : (tensor<4xf32>) -> tensor<4xf32> loc("io_callback")
    %t = "stablehlo.custom_call"(%x) <{call_target_name = "fused", called_computations = [@exchange]}> : (tensor<4xf32>) -> tensor<4xf32> loc("called")
    %u = "stablehlo.composite"(%x) <{name = "my.mean", decomposition = @sum}> : (tensor<4xf32>) -> tensor<4xf32> loc("composite")
    %v = "stablehlo.composite"(%x) <{name = "my.double", decomposition = @double}> : (tensor<4xf32>) -> tensor<4xf32> loc("harmless_composite")
    %y = "stablehlo.while"(%x) ({
    ^bb0(%i0: tensor<4xf32>):
      %cond = "stablehlo.constant"() <{value = dense<false> : tensor<i1>}> : () -> tensor<i1>
      "stablehlo.return"(%cond) : (tensor<i1>) -> ()
    }, {
    ^bb0(%i0: tensor<4xf32>):
      %i1 = "stablehlo.custom_call"(%i0) <{call_target_name = "ragged_all_to_all"}> : (tensor<4xf32>) -> tensor<4xf32>
      "stablehlo.return"(%i1) : (tensor<4xf32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32> loc("loop")
    return %w, %a, %b, %c, %d, %e, %f, %g, %h, %i, %j, %k, %l, %m, %n, %o, %p, %q, %r, %s, %t, %u, %v, %y
        : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>,
          tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  func.func private @larger(%a: tensor<f32>, %b: tensor<f32>) -> tensor<i1> {
    %c = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    return %c : tensor<i1>
  }
  func.func private @exchange(%a: tensor<4xf32>) -> tensor<4xf32> {
    %b = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    return %b : tensor<4xf32>
  }
  func.func private @sum(%a: tensor<4xf32>) -> tensor<4xf32> {
    %b = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %t = "stablehlo.add"(%l, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%t) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    return %b : tensor<4xf32>
  }
  func.func private @double(%a: tensor<4xf32>) -> tensor<4xf32> {
    %b = "stablehlo.add"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %b : tensor<4xf32>
  }
}
