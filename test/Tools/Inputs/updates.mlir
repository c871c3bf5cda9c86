!t = tensor<1000xf32>
!u = tensor<777xf32>
!s = tensor<f32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 25000, bytes_per_s = 12500000000, sharers = 2>,
                         #bagua.axis<"gpu", size = 2, latency_ns = 3000, bytes_per_s = 100000000000>]
bagua.step @train on @pod data [node, gpu] (batch %x "x" : !t, input %lr "lr" : !s, param %w1 "w1" : !t,
    param %w2 "w2" : !u, optimizer %m1 "m1" : !t, optimizer %m2 "m2" : !u, optimizer %v2 "v2" : !u) {
  %a = bagua.compute forward "l1"(%x, %w1) cost_ns 10000 measured : (!t, !t) -> (!t)
  %b = bagua.compute forward "l2"(%a, %w2) cost_ns 10000 measured : (!t, !u) -> (!u)
  %d, %g2 = bagua.compute backward "l2"(%b, %w2) cost_ns 10000 measured : (!u, !u) -> (!t, !u grad "w2")
  %g1 = bagua.compute backward "l1"(%d, %x) cost_ns 10000 measured : (!t, !t) -> (!t grad "w1")
  %n1, %o1 = bagua.sgd (%w1, %m1) momentum 0.9 grad %g1 lr %lr : !t, !s
  %n2, %o2, %u2 = bagua.adam (%w2, %m2, %v2) betas [0.9, 0.98] decay 0.01 grad %g2 lr 0.1 : !u
  bagua.yield %n1, %n2, %o1, %o2, %u2 : !t, !u, !t, !u, !u
}
