// RUN: bagua-opt %s --bagua-verify-graph --split-input-file --verify-diagnostics

// Agreement from row to row of a phase table: a row may start from at most what the
// rows that can run before it have proved. The first two tables are accepted.

// An `at_start` broadcast proves what the rows after it declare; what alternates
// agrees with each other.
!t = tensor<8xf32>
!r = tensor<8xf32, #bagua.layout<root [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @init on @grid data [node] (param %w "w" varies [node] : !t) {
  %r = bagua.slice %w : !t -> !r
  %n = bagua.broadcast %r over [node] : !r -> !t
  bagua.yield %n : !t
}
bagua.step @sync on @grid data [node] (param %w "w" : !t) {
  bagua.yield %w : !t
}
bagua.step @local on @grid data [node] (param %w "w" : !t) {
  bagua.yield %w : !t
}
bagua.training @job {
  bagua.phase @init at_start
  bagua.phase @sync until 100
  bagua.phase @local
}

// -----

// Rows that declare to vary may follow anything; so may what proves its own agreement.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @mix on @grid data [node] (param %w "w" varies [node] : !t) {
  %p = bagua.exchange shift_one %w over [node] : !t -> !t
  bagua.yield %p : !t
}
bagua.step @average on @grid data [node] (param %w "w" varies [node] : !t) {
  %m = bagua.all_reduce mean %w over [node] : !t
  bagua.yield %m : !t
}
bagua.step @local on @grid data [node] (param %w "w" varies [node] : !t) {
  bagua.yield %w : !t
}
bagua.training @job {
  bagua.phase @average until 100
  bagua.phase @mix every 2 offset 0
  bagua.phase @local
}

// -----

// Without a row that proves it, the first row's declaration is the program's promise.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @sync on @grid data [node] (param %w "w" : !t) {
  bagua.yield %w : !t
}
bagua.training @job {
  bagua.phase @sync
}

// -----

// A row can't take for granted what the row before it doesn't leave.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @mix on @grid data [node] (param %w "w" varies [node] : !t) {
  %p = bagua.exchange shift_one %w over [node] : !t -> !t
  bagua.yield %p : !t
}
bagua.step @sync on @grid data [node] (param %w "w" : !t) {
  bagua.yield %w : !t
}
bagua.training @job {
  bagua.phase @mix until 100
  // expected-error @+1 {{declares state 'w' replicated over axis 'node', but the rows that run before it leave it varying}}
  bagua.phase @sync
}

// -----

// A row at the start counts as a row before.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @mix on @grid data [node] (param %w "w" varies [node] : !t) {
  %p = bagua.exchange shift_one %w over [node] : !t -> !t
  bagua.yield %p : !t
}
bagua.step @sync on @grid data [node] (param %w "w" : !t) {
  bagua.yield %w : !t
}
bagua.training @job {
  bagua.phase @mix at_start
  // expected-error @+1 {{declares state 'w' replicated over axis 'node', but the rows that run before it leave it varying}}
  bagua.phase @sync
}

// -----

// Rows in turns: one that mixes ruins the agreement that the other starts from, though it stands after the broadcast.
!t = tensor<8xf32>
!r = tensor<8xf32, #bagua.layout<root [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @init on @grid data [node] (param %w "w" varies [node] : !t) {
  %r = bagua.slice %w : !t -> !r
  %n = bagua.broadcast %r over [node] : !r -> !t
  bagua.yield %n : !t
}
bagua.step @mix on @grid data [node] (param %w "w" varies [node] : !t) {
  %p = bagua.exchange shift_one %w over [node] : !t -> !t
  bagua.yield %p : !t
}
bagua.step @sync on @grid data [node] (param %w "w" : !t) {
  bagua.yield %w : !t
}
bagua.training @job {
  bagua.phase @init at_start
  bagua.phase @mix every 4 offset 0
  // expected-error @+1 {{declares state 'w' replicated over axis 'node', but the rows that run before it leave it varying}}
  bagua.phase @sync
}

// -----

// The same the other way round: what the last row leaves, the row of every second iteration meets.
!t = tensor<8xf32>
!r = tensor<8xf32, #bagua.layout<root [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @init on @grid data [node] (param %w "w" varies [node] : !t) {
  %r = bagua.slice %w : !t -> !r
  %n = bagua.broadcast %r over [node] : !r -> !t
  bagua.yield %n : !t
}
bagua.step @mix on @grid data [node] (param %w "w" varies [node] : !t) {
  %p = bagua.exchange shift_one %w over [node] : !t -> !t
  bagua.yield %p : !t
}
bagua.step @sync on @grid data [node] (param %w "w" : !t) {
  bagua.yield %w : !t
}
bagua.training @job {
  bagua.phase @init at_start
  // expected-error @+1 {{declares state 'w' replicated over axis 'node', but the rows that run before it leave it varying}}
  bagua.phase @sync every 2 offset 0
  bagua.phase @mix
}

// -----

// A row with `until` after one with `every` runs in turns with it.
!t = tensor<8xf32>
!r = tensor<8xf32, #bagua.layout<root [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @init on @grid data [node] (param %w "w" varies [node] : !t) {
  %r = bagua.slice %w : !t -> !r
  %n = bagua.broadcast %r over [node] : !r -> !t
  bagua.yield %n : !t
}
bagua.step @mix on @grid data [node] (param %w "w" varies [node] : !t) {
  %p = bagua.exchange shift_one %w over [node] : !t -> !t
  bagua.yield %p : !t
}
bagua.step @sync on @grid data [node] (param %w "w" : !t) {
  bagua.yield %w : !t
}
bagua.step @local on @grid data [node] (param %w "w" varies [node] : !t) {
  bagua.yield %w : !t
}
bagua.training @job {
  bagua.phase @init at_start
  bagua.phase @mix every 4 offset 0
  // expected-error @+1 {{declares state 'w' replicated over axis 'node', but the rows that run before it leave it varying}}
  bagua.phase @sync until 100
  bagua.phase @local
}

// -----

// A background row adds to the state beside a step that communicates nothing, so that step can't count on agreement,
!t = tensor<8xf32>
!r = tensor<8xf32, #bagua.layout<root [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @init on @grid data [node] (param %w "w" varies [node] : !t) {
  %r = bagua.slice %w : !t -> !r
  %n = bagua.broadcast %r over [node] : !r -> !t
  bagua.yield %n : !t
}
bagua.step @background on @grid (param %w "w" varies [node] : !t) {
  %m = bagua.all_reduce mean %w over [node] : !t
  %d = bagua.linear [1.0, -1.0] (%m, %w) : !t
  bagua.yield add %d : !t
}
bagua.step @sync on @grid data [node] (param %w "w" : !t) {
  bagua.yield %w : !t
}
bagua.step @local on @grid data [node] (param %w "w" varies [node] : !t) {
  bagua.yield %w : !t
}
bagua.training @job {
  bagua.phase @init at_start
  // expected-error @+1 {{declares state 'w' replicated over axis 'node', but the rows that run before it leave it varying}}
  bagua.phase @sync until 100
  bagua.phase @local
  bagua.phase @background background_ns 1000
}

// -----

// ... but not beside one that does.
!t = tensor<8xf32>
!r = tensor<8xf32, #bagua.layout<root [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @init on @grid data [node] (param %w "w" varies [node] : !t) {
  %r = bagua.slice %w : !t -> !r
  %n = bagua.broadcast %r over [node] : !r -> !t
  bagua.yield %n : !t
}
bagua.step @background on @grid (param %w "w" varies [node] : !t) {
  %m = bagua.all_reduce mean %w over [node] : !t
  %d = bagua.linear [1.0, -1.0] (%m, %w) : !t
  bagua.yield add %d : !t
}
bagua.step @sync on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n : !t
}
bagua.step @local on @grid data [node] (param %w "w" varies [node] : !t) {
  bagua.yield %w : !t
}
bagua.training @job {
  bagua.phase @init at_start
  bagua.phase @sync until 100
  bagua.phase @local
  bagua.phase @background background_ns 1000
}

// -----

// A step that doesn't name a state leaves it alone.
!t = tensor<8xf32>
!r = tensor<8xf32, #bagua.layout<root [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @init on @grid data [node] (param %w "w" varies [node] : !t) {
  %r = bagua.slice %w : !t -> !r
  %n = bagua.broadcast %r over [node] : !r -> !t
  bagua.yield %n : !t
}
bagua.step @other on @grid data [node] (param %v "v" : !t) {
  bagua.yield %v : !t
}
bagua.step @sync on @grid data [node] (param %w "w" : !t) {
  bagua.yield %w : !t
}
bagua.training @job {
  bagua.phase @init at_start
  bagua.phase @other until 5
  bagua.phase @sync
}

// -----

// Every step of a module is proved, in a table or not.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @lost on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  // expected-note @+1 {{'w.grad' is pending over axis 'node'}}
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %n = bagua.sgd (%w) grad %g lr 0.1 : !t
  // expected-error @+1 {{expected state 'w' replicated over axis 'node', found pending}}
  bagua.yield %n : !t
}
bagua.step @sync on @grid data [node] (param %w "w" : !t) {
  bagua.yield %w : !t
}
bagua.training @job {
  bagua.phase @sync
}

// -----

// Rows share states by their names, so a moment of one param is not another's in the next row.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @a on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, optimizer %m "m" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] : !t
  %n, %o = bagua.sgd (%w, %m) momentum 0.9 grad %r lr 0.1 : !t
  bagua.yield %n, %o : !t, !t
}
bagua.step @b on @grid data [node] (batch %x "x" : !t, param %u "u" : !t, optimizer %m "m" : !t) {
  %g = bagua.compute backward "l"(%x, %u) : (!t, !t) -> (!t grad "u")
  %r = bagua.all_reduce mean %g over [node] : !t
  %n, %o = bagua.sgd (%u, %m) momentum 0.9 grad %r lr 0.1 : !t
  bagua.yield %n, %o : !t, !t
}
bagua.training @job {
  // expected-note @+1 {{the other row}}
  bagua.phase @a every 2 offset 0
  // expected-error @+1 {{expected state 'm' to be computed from the same gradients in each row, found other gradients in step 'b'}}
  bagua.phase @b
}

// -----

// A row `at` an iteration proves what the rows from that iteration on declare,
!t = tensor<8xf32>
!r = tensor<8xf32, #bagua.layout<root [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @init on @grid data [node] (param %w "w" varies [node] : !t) {
  %r = bagua.slice %w : !t -> !r
  %n = bagua.broadcast %r over [node] : !r -> !t
  bagua.yield %n : !t
}
bagua.step @mix on @grid data [node] (param %w "w" varies [node] : !t) {
  %p = bagua.exchange shift_one %w over [node] : !t -> !t
  bagua.yield %p : !t
}
bagua.step @sync on @grid data [node] (param %w "w" : !t) {
  bagua.yield %w : !t
}
bagua.training @job {
  bagua.phase @init at 8
  bagua.phase @mix until 8
  bagua.phase @sync
}

// -----

// ... and not what the rows before that iteration do, although it stands before them.
!t = tensor<8xf32>
!r = tensor<8xf32, #bagua.layout<root [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @init on @grid data [node] (param %w "w" varies [node] : !t) {
  %r = bagua.slice %w : !t -> !r
  %n = bagua.broadcast %r over [node] : !r -> !t
  bagua.yield %n : !t
}
bagua.step @mix on @grid data [node] (param %w "w" varies [node] : !t) {
  %p = bagua.exchange shift_one %w over [node] : !t -> !t
  bagua.yield %p : !t
}
bagua.step @sync on @grid data [node] (param %w "w" : !t) {
  bagua.yield %w : !t
}
bagua.training @job {
  bagua.phase @init at 8
  bagua.phase @mix until 5
  // expected-error @+1 {{declares state 'w' replicated over axis 'node', but the rows that run before it leave it varying}}
  bagua.phase @sync until 8
  bagua.phase @sync
}

// -----

// The row that it interrupts goes on from what it leaves.
!t = tensor<8xf32>
!r = tensor<8xf32, #bagua.layout<root [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @mix on @grid data [node] (param %w "w" varies [node] : !t) {
  %p = bagua.exchange shift_one %w over [node] : !t -> !t
  bagua.yield %p : !t
}
bagua.step @sync on @grid data [node] (param %w "w" : !t) {
  bagua.yield %w : !t
}
bagua.training @job {
  bagua.phase @mix at 8
  // expected-error @+1 {{declares state 'w' replicated over axis 'node', but the rows that run before it leave it varying}}
  bagua.phase @sync
}

// -----

// The same in a row with `until`.
!t = tensor<8xf32>
!r = tensor<8xf32, #bagua.layout<root [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @mix on @grid data [node] (param %w "w" varies [node] : !t) {
  %p = bagua.exchange shift_one %w over [node] : !t -> !t
  bagua.yield %p : !t
}
bagua.step @sync on @grid data [node] (param %w "w" : !t) {
  bagua.yield %w : !t
}
bagua.step @local on @grid data [node] (param %w "w" varies [node] : !t) {
  bagua.yield %w : !t
}
bagua.training @job {
  bagua.phase @mix at 5
  // expected-error @+1 {{declares state 'w' replicated over axis 'node', but the rows that run before it leave it varying}}
  bagua.phase @sync until 8
  bagua.phase @local
}

// -----

// It finds what the rows before its iteration leave,
!t = tensor<8xf32>
!r = tensor<8xf32, #bagua.layout<root [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @mix on @grid data [node] (param %w "w" varies [node] : !t) {
  %p = bagua.exchange shift_one %w over [node] : !t -> !t
  bagua.yield %p : !t
}
bagua.step @sync on @grid data [node] (param %w "w" : !t) {
  bagua.yield %w : !t
}
bagua.step @again on @grid data [node] (param %w "w" varies [node] : !t) {
  bagua.yield %w : !t
}
bagua.training @job {
  // expected-error @+1 {{declares state 'w' replicated over axis 'node', but the rows that run before it leave it varying}}
  bagua.phase @sync at 8
  bagua.phase @mix until 8
  bagua.phase @again
}

// -----

// ... whatever comes in turns before it; among rows `at` one iteration, the order of the table counts.
!t = tensor<8xf32>
!r = tensor<8xf32, #bagua.layout<root [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @init on @grid data [node] (param %w "w" varies [node] : !t) {
  %r = bagua.slice %w : !t -> !r
  %n = bagua.broadcast %r over [node] : !r -> !t
  bagua.yield %n : !t
}
bagua.step @mix on @grid data [node] (param %w "w" varies [node] : !t) {
  %p = bagua.exchange shift_one %w over [node] : !t -> !t
  bagua.yield %p : !t
}
bagua.step @sync on @grid data [node] (param %w "w" : !t) {
  bagua.yield %w : !t
}
bagua.training @job {
  // expected-error @+1 {{declares state 'w' replicated over axis 'node', but the rows that run before it leave it varying}}
  bagua.phase @sync at 8
  bagua.phase @init at 8
  bagua.phase @mix
}

// -----

// A row that never runs proves nothing.
!t = tensor<8xf32>
!r = tensor<8xf32, #bagua.layout<root [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @init on @grid data [node] (param %w "w" varies [node] : !t) {
  %r = bagua.slice %w : !t -> !r
  %n = bagua.broadcast %r over [node] : !r -> !t
  bagua.yield %n : !t
}
bagua.step @mix on @grid data [node] (param %w "w" varies [node] : !t) {
  %p = bagua.exchange shift_one %w over [node] : !t -> !t
  bagua.yield %p : !t
}
bagua.step @sync on @grid data [node] (param %w "w" : !t) {
  bagua.yield %w : !t
}
bagua.training @job {
  bagua.phase @mix until 8
  bagua.phase @init until 5
  // expected-error @+1 {{declares state 'w' replicated over axis 'node', but the rows that run before it leave it varying}}
  bagua.phase @sync
}

// -----

// A row with `until` behind one beside which a background row runs may find what that row left.
!t = tensor<8xf32>
!r = tensor<8xf32, #bagua.layout<root [node]>>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                          #bagua.axis<"tp", size = 4, latency_ns = 0, bytes_per_s = 1>] servers 2
bagua.step @init on @grid data [node] (param %w "w" varies [node] : !t) {
  %r = bagua.slice %w : !t -> !r
  %n = bagua.broadcast %r over [node] : !r -> !t
  bagua.yield %n : !t
}
bagua.step @background on @grid (param %w "w" varies [node] : !t) {
  %m = bagua.all_reduce mean %w over [node] : !t
  %d = bagua.linear [1.0, -1.0] (%m, %w) : !t
  bagua.yield add %d : !t
}
bagua.step @sync on @grid data [node] (batch %x "x" : !t, param %w "w" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] : !t
  %n = bagua.sgd (%w) grad %r lr 0.1 : !t
  bagua.yield %n : !t
}
bagua.step @local on @grid data [node] (param %w "w" varies [node] : !t) {
  bagua.yield %w : !t
}
bagua.training @job {
  bagua.phase @init at_start
  bagua.phase @local until 5
  // expected-error @+1 {{declares state 'w' replicated over axis 'node', but the rows that run before it leave it varying}}
  bagua.phase @sync until 10
  bagua.phase @local
  bagua.phase @background background_ns 1000
}

// -----

// A row `at` an iteration that leaves a moment as it is does not hide whose gradients make it.
!t = tensor<8xf32>
bagua.cluster @grid axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>]
bagua.step @a on @grid data [node] (batch %x "x" : !t, param %w "w" : !t, optimizer %m "m" : !t) {
  %g = bagua.compute backward "l"(%x, %w) : (!t, !t) -> (!t grad "w")
  %r = bagua.all_reduce mean %g over [node] : !t
  %n, %o = bagua.sgd (%w, %m) momentum 0.9 grad %r lr 0.1 : !t
  bagua.yield %n, %o : !t, !t
}
bagua.step @b on @grid data [node] (batch %x "x" : !t, param %u "u" : !t, optimizer %m "m" : !t) {
  %g = bagua.compute backward "l"(%x, %u) : (!t, !t) -> (!t grad "u")
  %r = bagua.all_reduce mean %g over [node] : !t
  %n, %o = bagua.sgd (%u, %m) momentum 0.9 grad %r lr 0.1 : !t
  bagua.yield %n, %o : !t, !t
}
bagua.step @freeze on @grid (optimizer %m "m" : !t) {
  %h = bagua.linear [0.5] (%m) : !t
  bagua.yield %h : !t
}
bagua.training @job {
  bagua.phase @freeze at 8
  // expected-note @+1 {{the other row}}
  bagua.phase @a every 2 offset 0
  // expected-error @+1 {{expected state 'm' to be computed from the same gradients in each row, found other gradients in step 'b'}}
  bagua.phase @b
}
