// RUN: bagua-opt %s "--pass-pipeline=builtin.module(bagua.step(bagua-relax,bagua-bucketize{policy=size cap-bytes=4096}))" | FileCheck %s
// RUN: bagua-opt %s --bagua-strategy=ddp | bagua-translate --export-plan -o %t.bagua && bagua-run %t.bagua --check --time-scale=0 | FileCheck %s --check-prefix=RUNS
// RUNS: check {{ *}}passed: 3 tensors

// Sums that are no gradients' of a step that has none share buckets as gradients would, but for one on which another reduction waits.
// CHECK: %[[A:.*]]:2 = bagua.compute forward "layers"
// CHECK: bagua.all_reduce sum %[[A]]#0 over [node] : tensor<8xf32>
// CHECK: %[[G:.*]]:2 = bagua.compute backward "layers"
// CHECK: %[[B:.*]] = bagua.concat %[[G]]#0, %[[G]]#1
// CHECK: bagua.all_reduce sum %[[B]] over [node] : tensor<16xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 3, latency_ns = 1000, bytes_per_s = 1000000000>]
!t = tensor<8xf32>
bagua.step @sums on @pod data [node] (batch %x "x" : !t, param %v "v" : !t, param %w "w" : !t) {
  %a, %b = bagua.compute forward "layers"(%x, %v, %w) : (!t, !t, !t) -> (!t, !t)
  %c = bagua.all_reduce sum %a over [node] : !t
  %g, %h = bagua.compute backward "layers"(%b, %c) : (!t, !t) -> (!t, !t)
  %r = bagua.all_reduce sum %g over [node] : !t
  %s = bagua.all_reduce sum %h over [node] : !t
  %n = bagua.compute update "v"(%v, %r) : (!t, !t) -> (!t)
  %m = bagua.compute update "w"(%w, %s) : (!t, !t) -> (!t)
  bagua.yield %n, %m : !t, !t
}
