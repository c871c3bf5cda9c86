// RUN: bagua-opt %s --split-input-file --verify-diagnostics

// What a cluster may not be.

// A cluster has ranks.
// expected-error @+1 {{expected at least one axis}}
bagua.cluster @c axes []

// -----

// Axes are told apart by name.
// expected-error @+1 {{expected unique names of axes, found 'gpu' twice}}
bagua.cluster @c axes [#bagua.axis<"gpu", size = 2, latency_ns = 0, bytes_per_s = 1>,
                       #bagua.axis<"gpu", size = 4, latency_ns = 0, bytes_per_s = 1>]

// -----

// Parts of an axis stand one behind the other.
// expected-error @+1 {{expected axis 'gpu.1' behind axis 'gpu.0', whose links it has}}
bagua.cluster @c axes [#bagua.axis<"gpu.0", size = 2, latency_ns = 0, bytes_per_s = 1>,
                       #bagua.axis<"lane", size = 2, latency_ns = 0, bytes_per_s = 1>,
                       #bagua.axis<"gpu.1", size = 2, latency_ns = 0, bytes_per_s = 1, links_of = "gpu.0">]

// -----

// And what their links are is said twice alike.
// expected-error @+1 {{expected axis 'gpu.1' to have the latency, gap, rates and sharers of axis 'gpu.0', whose links it uses, and no table on either axis}}
bagua.cluster @c axes [#bagua.axis<"gpu.0", size = 2, latency_ns = 0, bytes_per_s = 1>,
                       #bagua.axis<"gpu.1", size = 2, latency_ns = 0, bytes_per_s = 2, links_of = "gpu.0">]

// -----

// expected-error @+1 {{expected axis 'gpu.1' to have the latency, gap, rates and sharers of axis 'gpu.0'}}
bagua.cluster @c axes [#bagua.axis<"gpu.0", size = 2, latency_ns = 0, bytes_per_s = 1, gap_ns = 5>,
                       #bagua.axis<"gpu.1", size = 2, latency_ns = 0, bytes_per_s = 1, gap_ns = 6, links_of = "gpu.0">]

// -----

// Servers stand on the coordinates of axes that there are.
// expected-error @+1 {{has no axis 'rack', named by servers_on}}
bagua.cluster @c axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>] servers_on [rack]

// -----

// No dedicated servers is no `servers`.
// expected-error @+1 {{attribute 'servers' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
bagua.cluster @c axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>] servers 0

// -----

// What nobody has is a slip of the keyboard,
// expected-error @+1 {{expected at most 1048576 ranks, found more with axis 'gpu' of 9223372036854775807}}
bagua.cluster @c axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>,
                       #bagua.axis<"gpu", size = 9223372036854775807, latency_ns = 0, bytes_per_s = 1>]

// -----

// ... in servers as well.
// expected-error @+1 {{expected at most 1048576 servers, found 2143289344}}
bagua.cluster @c axes [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>] servers 2143289344

// -----

// expected-error @+1 {{attribute 'message_ns' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
"bagua.cluster"() {sym_name = "c", axes = [#bagua.axis<"node", size = 2, latency_ns = 0, bytes_per_s = 1>], message_ns = -1 : i64} : () -> ()
