// RUN: bagua-opt %s --bagua-verify-states --split-input-file --verify-diagnostics

// Where and when steps have the states that they share.

// Temporaries of different steps may overlap; so may a step use another arena.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @a on @pod streams [compute, comm] (param %w "w" varies [node] at states:0 : !t) {
  %p = bagua.exchange shift_one %w over [node] on comm at [other:0] : !t -> !t
  bagua.yield %p : !t
}
bagua.step @b on @pod streams [compute, comm] (param %w "w" varies [node] at states:0 : !t) {
  %p = bagua.exchange shift_one %w over [node] on comm at [other:16] : !t -> !t
  bagua.yield %p : !t
}
bagua.step @c on @pod streams [compute, comm] (param %v "v" varies [node] at "v" : !t) {
  %p = bagua.exchange shift_one %v over [node] on comm at [other:0] : !t -> !t
  bagua.yield %p : !t
}

// -----

// A state is not in an arena for one step and the program's for another,
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
// expected-note @+1 {{step 'a' is here}}
bagua.step @a on @pod streams [compute, comm] (param %w "w" varies [node] at states:0 : !t) {
  bagua.yield %w : !t
}
// expected-error @+1 {{expected state 'w' in one place in all steps, found it in arena 'states' in step 'a' and in the program's own tensor in step 'b'}}
bagua.step @b on @pod streams [compute, comm] (param %w "w" varies [node] at "w" : !t) {
  bagua.yield %w : !t
}

// -----

// ... nor at two bytes,
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
// expected-note @+1 {{step 'a' is here}}
bagua.step @a on @pod streams [compute, comm] (param %w "w" varies [node] at states:0 : !t) {
  bagua.yield %w : !t
}
// expected-error @+1 {{expected state 'w' in one place in all steps, found it in arena 'states' in step 'a' and elsewhere in it in step 'b'}}
bagua.step @b on @pod streams [compute, comm] (param %w "w" varies [node] at states:64 : !t) {
  bagua.yield %w : !t
}

// -----

// ... and no step that leaves it alone uses its arena.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
// expected-note @+1 {{step 'a' is here}}
bagua.step @a on @pod streams [compute, comm] (param %w "w" varies [node] at states:0 : !t) {
  bagua.yield %w : !t
}
// expected-error @+1 {{expected state 'w' in one place in all steps, found it in arena 'states' in step 'a' and that arena used for other values in step 'b'}}
bagua.step @b on @pod streams [compute, comm] (param %v "v" varies [node] at "v" : !t) {
  %p = bagua.exchange shift_one %v over [node] on comm at [states:0] : !t -> !t
  bagua.yield %p : !t
}

// -----

// A step between iterations changes a state that nobody needs late: late compute may use another.
!t = tensor<8xf32>
bagua.cluster @pod axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
// expected-note @+1 {{step 'between' is here}}
bagua.step @between on @pod streams [compute, comm] (param %w "w" : !t, optimizer %m "m" at "m" : !t) {
  %n = bagua.linear [0.5] (%m) on comm at ["m"] : !t
  bagua.yield %w, %n : !t, !t
}
bagua.step @fine on @pod data [node] streams [compute, late] (batch %x "x" : !t, param %w "w" : !t, optimizer %m "m" : !t) {
  %n = bagua.compute update "u"(%w) late on late at [program] : (!t) -> (!t)
  bagua.yield %n, %m : !t, !t
}
bagua.step @late on @pod data [node] streams [compute, late] (batch %x "x" : !t, param %w "w" : !t, optimizer %m "m" : !t) {
  // expected-error @+1 {{expected compute that uses state 'm' before the iteration ends, because step 'between' changes it then, found late compute}}
  %n = bagua.compute update "u"(%m) late on late at [program] : (!t) -> (!t)
  bagua.yield %w, %n : !t, !t
}
