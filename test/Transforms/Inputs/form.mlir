// One gradient whose form is already chosen.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 25000, bytes_per_s = 12500000000>,
                         #bagua.axis<"gpu", size = 4, latency_ns = 3000, bytes_per_s = 200000000000>] // ranks_only
bagua.step @train on @pod data [node, gpu] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node, gpu] {bagua.form = "kind_of_form"} : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n : !t
}
