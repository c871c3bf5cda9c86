// Data parallelism on 4 ranks in two phases, which a strategy may send differently.
// Between them, before iteration 8, all momenta are halved.
!x = tensor<32x37xf32>
!w1 = tensor<37x65xf32>
!b1 = tensor<65xf32>
!w2 = tensor<65x17xf32>
!b2 = tensor<17xf32>
!e = tensor<1001xf32>
!s = tensor<1xf32>
bagua.cluster @pod
    axes [#bagua.axis<"node", size = 2, latency_ns = 25000, bytes_per_s = 12500000000>,
          #bagua.axis<"gpu", size = 2, latency_ns = 3000, bytes_per_s = 200000000000>]
    device #bagua.device<flop_per_s = 120000000000000, bytes_per_s = 900000000000, launch_ns = 5000>
bagua.step @warmup on @pod data [node, gpu] (
    batch %x "x" : !x, param %w1 "w1" : !w1, param %b1 "b1" : !b1, param %w2 "w2" : !w2, param %b2 "b2" : !b2,
    param %e "e" : !e, param %s "s" : !s,
    optimizer %mw1 "w1.m" : !w1, optimizer %mb1 "b1.m" : !b1, optimizer %mw2 "w2.m" : !w2, optimizer %mb2 "b2.m" : !b2,
    optimizer %me "e.m" : !e, optimizer %ms "s.m" : !s) {
  %a1 = bagua.compute forward "l1"(%x, %w1, %b1) flops 5000000 bytes 20000 : (!x, !w1, !b1) -> (!x)
  %a2 = bagua.compute forward "l2"(%a1, %w2, %b2, %e, %s) flops 5000000 bytes 20000 : (!x, !w2, !b2, !e, !s) -> (!x)
  %d2, %ge, %gs, %gw2, %gb2 = bagua.compute backward "l2"(%a2, %a1, %w2) flops 10000000 bytes 40000 : (!x, !x, !w2) -> (!x, !e grad "e", !s grad "s", !w2 grad "w2", !b2 grad "b2")
  %gw1, %gb1 = bagua.compute backward "l1"(%d2, %x) flops 10000000 bytes 40000 : (!x, !x) -> (!w1 grad "w1", !b1 grad "b1")
  %w1n, %mw1n = bagua.sgd (%w1, %mw1) momentum 0.9 grad %gw1 lr 0.1 : !w1
  %b1n, %mb1n = bagua.sgd (%b1, %mb1) momentum 0.9 grad %gb1 lr 0.1 : !b1
  %w2n, %mw2n = bagua.sgd (%w2, %mw2) momentum 0.9 grad %gw2 lr 0.1 : !w2
  %b2n, %mb2n = bagua.sgd (%b2, %mb2) momentum 0.9 grad %gb2 lr 0.1 : !b2
  %en, %men = bagua.sgd (%e, %me) momentum 0.9 grad %ge lr 0.1 : !e
  %sn, %msn = bagua.sgd (%s, %ms) momentum 0.9 grad %gs lr 0.1 : !s
  bagua.yield %w1n, %b1n, %w2n, %b2n, %en, %sn, %mw1n, %mb1n, %mw2n, %mb2n, %men, %msn : !w1, !b1, !w2, !b2, !e, !s, !w1, !b1, !w2, !b2, !e, !s
}
bagua.step @compressed on @pod data [node, gpu] (
    batch %x "x" : !x, param %w1 "w1" : !w1, param %b1 "b1" : !b1, param %w2 "w2" : !w2, param %b2 "b2" : !b2,
    param %e "e" : !e, param %s "s" : !s,
    optimizer %mw1 "w1.m" : !w1, optimizer %mb1 "b1.m" : !b1, optimizer %mw2 "w2.m" : !w2, optimizer %mb2 "b2.m" : !b2,
    optimizer %me "e.m" : !e, optimizer %ms "s.m" : !s) {
  %a1 = bagua.compute forward "l1"(%x, %w1, %b1) flops 5000000 bytes 20000 : (!x, !w1, !b1) -> (!x)
  %a2 = bagua.compute forward "l2"(%a1, %w2, %b2, %e, %s) flops 5000000 bytes 20000 : (!x, !w2, !b2, !e, !s) -> (!x)
  %d2, %ge, %gs, %gw2, %gb2 = bagua.compute backward "l2"(%a2, %a1, %w2) flops 10000000 bytes 40000 : (!x, !x, !w2) -> (!x, !e grad "e", !s grad "s", !w2 grad "w2", !b2 grad "b2")
  %gw1, %gb1 = bagua.compute backward "l1"(%d2, %x) flops 10000000 bytes 40000 : (!x, !x) -> (!w1 grad "w1", !b1 grad "b1")
  %w1n, %mw1n = bagua.sgd (%w1, %mw1) momentum 0.9 grad %gw1 lr 0.1 : !w1
  %b1n, %mb1n = bagua.sgd (%b1, %mb1) momentum 0.9 grad %gb1 lr 0.1 : !b1
  %w2n, %mw2n = bagua.sgd (%w2, %mw2) momentum 0.9 grad %gw2 lr 0.1 : !w2
  %b2n, %mb2n = bagua.sgd (%b2, %mb2) momentum 0.9 grad %gb2 lr 0.1 : !b2
  %en, %men = bagua.sgd (%e, %me) momentum 0.9 grad %ge lr 0.1 : !e
  %sn, %msn = bagua.sgd (%s, %ms) momentum 0.9 grad %gs lr 0.1 : !s
  bagua.yield %w1n, %b1n, %w2n, %b2n, %en, %sn, %mw1n, %mb1n, %mw2n, %mb2n, %men, %msn : !w1, !b1, !w2, !b2, !e, !s, !w1, !b1, !w2, !b2, !e, !s
}
bagua.step @freeze on @pod (
    optimizer %mw1 "w1.m" : !w1, optimizer %mb1 "b1.m" : !b1, optimizer %mw2 "w2.m" : !w2, optimizer %mb2 "b2.m" : !b2,
    optimizer %me "e.m" : !e, optimizer %ms "s.m" : !s) {
  %mw1n = bagua.linear [0.5] (%mw1) : !w1
  %mb1n = bagua.linear [0.5] (%mb1) : !b1
  %mw2n = bagua.linear [0.5] (%mw2) : !w2
  %mb2n = bagua.linear [0.5] (%mb2) : !b2
  %men = bagua.linear [0.5] (%me) : !e
  %msn = bagua.linear [0.5] (%ms) : !s
  bagua.yield %mw1n, %mb1n, %mw2n, %mb2n, %men, %msn : !w1, !b1, !w2, !b2, !e, !s
}
bagua.training @job {
  bagua.phase @freeze at 8
  bagua.phase @warmup until 8
  bagua.phase @compressed
}
