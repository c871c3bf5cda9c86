// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-lower-hierarchy{form=flat servers=spread}))' --verify-diagnostics --split-input-file %s
// RUN: bagua-opt '--pass-pipeline=builtin.module(bagua.step(bagua-lower-hierarchy{form=servers}))' --verify-diagnostics --split-input-file %s

// Servers sum what all ranks push; what is apart along another axis than the data's would need a slot for each rank there.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                         #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers_on [node]
bagua.step @tensor_parallel on @pod data [node] (batch %x "x" : !t, param %w "w" varies [tp] : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-error @+1 {{can't be left to servers, which sum the values of all ranks: expected a reduction over all axes of 'pod', found a reduction that leaves out [tp]}}
  %r = bagua.all_reduce mean %g over [node] : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n : !t
}

// -----

// As would what is the same there: no one of them is to push for the others.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                         #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @fewer_axes on @pod data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  // expected-error @+1 {{found a reduction that leaves out [gpu]}}
  %r = bagua.all_reduce mean %g over [node] : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n : !t
}
