!t = tensor<100000xf32>
!c = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 1000, bytes_per_s = 1000000000>]
bagua.step @train on @pod data [node] (batch %x "x" : !t, param %w "w" : !t, buffer %e "e" : !c) {
  %a, %s = bagua.compute forward "f"(%x, %w) cost_ns 1000 measured : (!t, !t) -> (!t, !c)
  %r = bagua.all_reduce mean %s over [node] : !c
  %en = bagua.compute update "run"(%e, %r) cost_ns 400000 measured : (!c, !c) -> (!c)
  %g = bagua.compute backward "b"(%a, %w) cost_ns 1000 measured : (!t, !t) -> (!t grad "w")
  %n = bagua.sgd (%w) grad %g lr 0.1 : !t
  bagua.yield %n, %en : !t, !c
}
