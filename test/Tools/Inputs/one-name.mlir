// "z" is a value of the program's in the first step, and of the runtime's in the second.
!x = tensor<8xf32>
!w = tensor<100xf32>
bagua.cluster @pod axes [#bagua.axis<"gpu", size = 2, latency_ns = 3000, bytes_per_s = 200000000000>]
bagua.step @measured on @pod data [gpu] (batch %x "x" : !x, param %w "w" varies [gpu] : !w) {
  %z, %y = bagua.compute forward "f"(%x, %w) cost_ns 1000 measured : (!x, !w) -> (!w as "z", !x)
  %r = bagua.all_reduce mean %z over [gpu] : !w
  bagua.compute update "log"(%r) cost_ns 1000 measured : (!w) -> ()
  %g = bagua.compute backward "b"(%y, %w) cost_ns 1000 measured : (!x, !w) -> (!w grad "w")
  %w1 = bagua.sgd (%w) grad %g lr 0.1 : !w
  bagua.yield %w1 : !w
}
bagua.step @mixed on @pod data [gpu] (batch %x "x" : !x, param %w "w" varies [gpu] : !w) {
  %y = bagua.compute forward "f"(%x, %w) cost_ns 1000 measured : (!x, !w) -> (!x)
  %g = bagua.compute backward "b"(%y, %w) cost_ns 1000 measured : (!x, !w) -> (!w grad "w")
  %p = bagua.permute %w over [gpu] pairs [0 -> 1, 1 -> 0] : !w as "z"
  %l = bagua.linear [0.75, 0.25] (%w, %p) : !w
  %w1 = bagua.sgd (%l) grad %g lr 0.1 : !w
  bagua.yield %w1 : !w
}
bagua.training @job {
  bagua.phase @measured every 2 offset 0
  bagua.phase @mixed
}
