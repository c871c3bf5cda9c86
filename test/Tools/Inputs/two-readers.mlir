// A gradient with two readers: the param that the first op needs, and states that nobody needs before an activation has been
// summed, whose update takes as long as that.
!t = tensor<10000xf32>
!b = tensor<250000xf32>
bagua.cluster @pod axes [#bagua.axis<"data", size = 2, latency_ns = 0, bytes_per_s = 1000000000>,
                         #bagua.axis<"model", size = 2, latency_ns = 0, bytes_per_s = 1000000000>] device #bagua.device<flop_per_s = 1000000000, bytes_per_s = 1000000000, launch_ns = 0>
bagua.step @s on @pod data [data] (batch %x "x" : !t, param %w "w" varies [model] : !t, optimizer %e "e" varies [model] : !t, optimizer %m "m" varies [model] : !t) {
  %a = bagua.compute forward "f"(%x, %w) cost_ns 10000 measured : (!t, !t) -> (!b)
  %f = bagua.all_reduce sum %a over [model] : !b
  %g = bagua.compute backward "l"(%f, %w, %e) cost_ns 100000 measured : (!b, !t, !t) -> (!t grad "w")
  %n = bagua.compute update "w"(%w, %g) cost_ns 0 measured : (!t, !t) -> (!t)
  %ne, %nm = bagua.sgd (%e, %m) momentum 0.9 grad %g lr 0.1 : !t
  bagua.yield %n, %ne, %nm : !t, !t, !t
}
