// RUN: not bagua-translate --export-plan %s 2>&1 | FileCheck %s
// RUN: sed 's/"average"(%w, %n)/"average"(%x, %x)/' %s | bagua-translate --export-plan -o %t
// RUN: sed 's/"average"(%w, %n)/"average"(%w, %w)/' %s | not bagua-translate --export-plan 2>&1 | FileCheck %s --check-prefix=OLD

// For a state the program waits as the step found it, so no plan hands over its new value in the step that makes it. (What
// bagua-schedule makes leaves such updates to the program.)
// Nor is the old value read when the update may have begun.
// OLD: error: makes a plan that the runtime would refuse: invalid plan: instruction 1 writes tensor 'w', which program op 1 reads: expected it to wait for a tensor that op 1 or a later one gives, found that it may run before
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
