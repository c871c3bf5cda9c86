// RUN: not bagua-translate --export-plan %s 2>&1 | FileCheck %s
// RUN: sed 's/"average"(%w, %n)/"average"(%w, %w)/' %s | bagua-translate --export-plan -o %t

// For a state the program waits as the step found it, so no plan hands over its new value in the step that makes it. (What
// bagua-schedule makes leaves such updates to the program.)
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @s on @pod data [node] streams [compute, comm] (batch %x "x" : !t, param %w "w" at "w" : !t)
    attributes {bagua.contract = [#bagua.relation<"w.grad" = mean "w.grad" over [node]>]} {
  %g = bagua.compute backward "l"(%x, %w) on compute at ["w.grad"] : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] on comm at ["w.grad"] : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 on comm at ["w"] : !t
  // CHECK: error: 'bagua.compute' op uses the next value of state 'w' in the step that computes it, but under that name the program gets the value from before the step
  bagua.compute update "average"(%w, %n) on compute at [] : (!t, !t) -> ()
  bagua.yield %n : !t
}
