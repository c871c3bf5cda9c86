// Parts of a model on two ranks each, which sum an activation before the backward: 40,000 bytes at one byte a ns, as many
// as the gradient that two ranks with the same part sum.
!t = tensor<10000xf32>
bagua.cluster @pod axes [#bagua.axis<"data", size = 2, latency_ns = 0, bytes_per_s = 1000000000>,
                         #bagua.axis<"model", size = 2, latency_ns = 0, bytes_per_s = 1000000000>]
bagua.step @s on @pod data [data] (batch %x "x" : !t, param %w "w" varies [model] : !t) {
  %a = bagua.compute forward "f"(%x, %w) cost_ns 100000 measured : (!t, !t) -> (!t)
  %f = bagua.all_reduce sum %a over [model] : !t
  %g = bagua.compute backward "l"(%f, %w) cost_ns 100000 measured : (!t, !t) -> (!t grad "w")
  %n = bagua.sgd (%w) grad %g lr 0.1 : !t
  bagua.yield %n : !t
}
