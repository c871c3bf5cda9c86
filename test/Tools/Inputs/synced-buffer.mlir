!t = tensor<1000xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 25000, bytes_per_s = 12500000000, sharers = 2>,
                         #bagua.axis<"gpu", size = 2, latency_ns = 3000, bytes_per_s = 100000000000>]
bagua.step @train on @pod data [node, gpu] (batch %x "x" : !t, param %w "w" : !t, buffer %mean "mean" : !t) {
  %a, %m = bagua.compute forward "l"(%x, %w, %mean) cost_ns 10000 measured : (!t, !t, !t) -> (!t, !t)
  %g = bagua.compute backward "l"(%a, %x) cost_ns 10000 measured : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %m over [node, gpu] : !t
  %n = bagua.sgd (%w) grad %g lr 0.1 : !t
  bagua.yield %n, %r : !t, !t
}
