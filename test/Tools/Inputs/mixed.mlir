// Each rank mixes its param with that of another rank; a second param is trained as usual.
!x = tensor<8xf32>
!w = tensor<100xf32>
bagua.cluster @pod axes [#bagua.axis<"gpu", size = 2, latency_ns = 3000, bytes_per_s = 200000000000>]
bagua.step @train on @pod data [gpu] (batch %x "x" : !x, param %w "w" varies [gpu] : !w, param %h "h" : !w) {
  %y = bagua.compute forward "f"(%x, %w, %h) cost_ns 1000 measured : (!x, !w, !w) -> (!x)
  %g, %gh = bagua.compute backward "b"(%y, %w, %h) cost_ns 1000 measured : (!x, !w, !w) -> (!w grad "w", !w grad "h")
  %p = bagua.permute %w over [gpu] pairs [0 -> 1, 1 -> 0] : !w
  %l = bagua.linear [0.75, 0.25] (%w, %p) : !w
  %w1 = bagua.sgd (%l) grad %g lr 0.1 : !w
  %r = bagua.all_reduce mean %gh over [gpu] : !w
  %h1 = bagua.sgd (%h) grad %r lr 0.1 : !w
  bagua.yield %w1, %h1 : !w, !w
}
