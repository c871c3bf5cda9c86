// Batch normalisation over all ranks: forward and backward wait for two sums; what becomes of the running means and of the
// loss has time. Nobody shares a bucket with a statistic that is needed at once, nor with a gradient.
!t = tensor<1000xf32>
!c = tensor<64xf32>
!s = tensor<f32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>,
                         #bagua.axis<"gpu", size = 2, latency_ns = 1000, bytes_per_s = 10000000000>] servers_on [node]
bagua.step @s on @pod data [node, gpu] (batch %x "x" : !t, param %w "w" : !t, param %v "v" : !t, buffer %m "mean" : !c, buffer %u "variance" : !c) {
  %a, %s0, %k0, %k1 = bagua.compute forward "conv"(%x, %w) cost_ns 100000 measured : (!t, !t) -> (!t, !c, !c, !c)
  %s1 = bagua.all_reduce mean %s0 over [node, gpu] : !c
  %b = bagua.compute forward "norm"(%a, %s1) cost_ns 1000 measured : (!t, !c) -> (!t)
  %y, %l = bagua.compute forward "loss"(%b, %v) cost_ns 100000 measured : (!t, !t) -> (!t, !s)
  %h, %d0 = bagua.compute backward "loss"(%y, %v) cost_ns 100000 measured : (!t, !t) -> (!t grad "v", !c)
  %d1 = bagua.all_reduce sum %d0 over [node, gpu] : !c
  %g = bagua.compute backward "conv"(%y, %d1, %w) cost_ns 100000 measured : (!t, !c, !t) -> (!t grad "w")
  %k2 = bagua.all_reduce mean %k0 over [node, gpu] : !c
  %mn = bagua.linear [0.9, 0.1] (%m, %k2) : !c
  %k3 = bagua.all_reduce mean %k1 over [node, gpu] : !c
  %un = bagua.compute update "variance"(%u, %k3, %k2) : (!c, !c, !c) -> (!c)
  %l1 = bagua.all_reduce mean %l over [node, gpu] : !s
  bagua.compute update "print"(%l1) : (!s) -> ()
  %n = bagua.sgd (%w) grad %g lr 0.1 : !t
  %o = bagua.sgd (%v) grad %h lr 0.1 : !t
  bagua.yield %n, %o, %mn, %un : !t, !t, !c, !c
}
