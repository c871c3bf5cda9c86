!t = tensor<1000xf32>
!u = tensor<777xf32>
!v = tensor<3x5xf32>
!s = tensor<f32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 25000, bytes_per_s = 12500000000, sharers = 2>,
                         #bagua.axis<"gpu", size = 2, latency_ns = 3000, bytes_per_s = 100000000000>]
bagua.step @train on @pod data [node, gpu] (batch %x "x" : !t, input %lr "lr" : !s, param %w1 "w1" : !t,
    param %w2 "w2" : !u, param %w3 "w3" : !v, optimizer %m1 "m1" : !t, optimizer %m2 "m2" : !u,
    optimizer %v2 "v2" : !u, optimizer %m3 "m3" : !v) {
  %a = bagua.compute forward "l1"(%x, %w1) cost_ns 10000 measured : (!t, !t) -> (!t)
  %b = bagua.compute forward "l2"(%a, %w2) cost_ns 10000 measured : (!t, !u) -> (!u)
  %c = bagua.compute forward "l3"(%b, %w3) cost_ns 10000 measured : (!u, !v) -> (!u)
  %d, %g3 = bagua.compute backward "l3"(%c, %w3) cost_ns 10000 measured : (!u, !v) -> (!u, !v grad "w3")
  %e, %g2 = bagua.compute backward "l2"(%d, %w2) cost_ns 10000 measured : (!u, !u) -> (!t, !u grad "w2")
  %g1 = bagua.compute backward "l1"(%e, %x) cost_ns 10000 measured : (!t, !t) -> (!t grad "w1")
  %d1 = bagua.direction (%w1, %m1) by lars [0.9, 0.01, 0.02, 1.0e-08] grad %g1 : !t
  %a1 = bagua.squared_norm %w1 : !t
  %b1 = bagua.squared_norm %d1 : !t
  %n1, %o1 = bagua.update (%w1, %m1) by lars [0.9, 0.01, 0.02, 1.0e-08] grad %g1 norms %a1, %b1 lr %lr : !t, !s
  %d2 = bagua.direction (%w2, %m2, %v2) by lamb [0.9, 0.98, 1.0e-06, 0.01] moments grad %g2 : !u
  %a2 = bagua.squared_norm %w2 : !u
  %b2 = bagua.squared_norm %d2 : !u
  %n2, %o2, %p2 = bagua.update (%w2, %m2, %v2) by lamb [0.9, 0.98, 1.0e-06, 0.01] moments grad %g2 norms %a2, %b2 lr 0.1 : !u
  %d3 = bagua.direction (%w3, %m3) by lars_trace [0.9, 0.01, 0.02, 0.0] grad %g3 : !v
  %a3 = bagua.squared_norm %w3 : !v
  %b3 = bagua.squared_norm %d3 : !v
  %n3, %o3 = bagua.update (%w3, %m3) by lars_trace [0.9, 0.01, 0.02, 0.0] grad %g3 norms %a3, %b3 lr 0.1 : !v
  bagua.yield %n1, %n2, %n3, %o1, %o2, %p2, %o3 : !t, !u, !v, !t, !u, !u, !v
}
