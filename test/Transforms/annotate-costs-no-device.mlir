// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-annotate-costs))' %s | FileCheck %s

// Without a device there is no roofline, and nothing changes.
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
// CHECK: forward "l1"(%x) flops 5000000 : (
bagua.step @train on @pod data [node] (batch %x "x" : tensor<8xf32>) {
  %a = bagua.compute forward "l1"(%x) flops 5000000 : (tensor<8xf32>) -> (tensor<8xf32>)
}
