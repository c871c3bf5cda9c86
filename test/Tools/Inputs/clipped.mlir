!t = tensor<100000xf32>
!u = tensor<2500000xf32>
!s = tensor<f32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1000000000>]
bagua.step @train on @pod data [node] (batch %x "x" : !t, param %w1 "w1" : !t, param %w2 "w2" : !u) {
  %a = bagua.compute forward "l1"(%x, %w1) cost_ns 5000000 measured : (!t, !t) -> (!t)
  %b = bagua.compute forward "l2"(%a, %w2) cost_ns 5000000 measured : (!t, !u) -> (!t)
  %d, %g2 = bagua.compute backward "l2"(%b, %w2) cost_ns 5000000 measured : (!t, !u) -> (!t, !u grad "w2")
  %g1 = bagua.compute backward "l1"(%d, %x) cost_ns 5000000 measured : (!t, !t) -> (!t grad "w1")
  %s = bagua.compute update "norm"(%g1, %g2) : (!t, !u) -> (!s)
  %n1 = bagua.compute update "w1"(%w1, %g1, %s) : (!t, !t, !s) -> (!t)
  %n2 = bagua.compute update "w2"(%w2, %g2, %s) : (!u, !u, !s) -> (!u)
  bagua.yield %n1, %n2 : !t, !u
}
