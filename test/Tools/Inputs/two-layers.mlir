// Two layers with a gradient of 4,000 bytes each, on four ranks at one byte a ns.
!t = tensor<1000xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 4, latency_ns = 0, bytes_per_s = 1000000000>]
bagua.step @train on @pod data [node] (batch %x "x" : !t, param %w1 "w1" : !t, param %w2 "w2" : !t) {
  %a1 = bagua.compute forward "l1"(%x, %w1) cost_ns 2000 measured : (!t, !t) -> (!t)
  %a2 = bagua.compute forward "l2"(%a1, %w2) cost_ns 2000 measured : (!t, !t) -> (!t)
  %d, %g2 = bagua.compute backward "l2"(%a2, %w2) cost_ns 3000 measured : (!t, !t) -> (!t, !t grad "w2")
  %g1 = bagua.compute backward "l1"(%d) cost_ns 3000 measured : (!t) -> (!t grad "w1")
  %n1 = bagua.sgd (%w1) grad %g1 lr 0.1 : !t
  %n2 = bagua.sgd (%w2) grad %g2 lr 0.1 : !t
  bagua.yield %n1, %n2 : !t, !t
}
