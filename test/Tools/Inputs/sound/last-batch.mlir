// A buffer that keeps the last batch, which the next iteration uses.
!t = tensor<1000xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>] servers_on [node]
bagua.step @train on @pod data [node] (batch %x "x" : !t, param %w "w" : !t, buffer %b "last" varies [node] : !t) {
  %g = bagua.compute backward "l"(%x, %w, %b) cost_ns 10000 measured : (!t, !t, !t) -> (!t grad "w")
  %n = bagua.sgd (%w) grad %g lr 0.1 : !t
  bagua.yield %n, %x : !t, !t
}
