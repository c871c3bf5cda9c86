// Four ranks of one NVIDIA V100 each on 25 Gbit/s Ethernet. Device: data sheet of the V100 SXM2, 15.7 Tflop/s in
// float32 and 900 GB/s; 5 us a kernel launch is what CUDA programs commonly see. Network: the nominal rate and a
// TCP latency of 25 us. Nothing here is measured.
bagua.cluster @v100x4
    axes [#bagua.axis<"data", size = 4, latency_ns = 25000, bytes_per_s = 3125000000>]
    device #bagua.device<flop_per_s = 15700000000000, bytes_per_s = 900000000000, launch_ns = 5000>
