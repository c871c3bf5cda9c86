// 8 nodes of 8 NVIDIA H100 SXM with NVLink and one 400 Gbit/s InfiniBand card for each GPU, a server on each node. Device
// and NVLink: data sheet (66.9 Tflop/s in float32, 3.35 TB/s, 450 GB/s each way). Network: the line rate; 5 us is a common
// figure for a small message between GPUs of two nodes. NCCL, which sends nothing
// directly. Nothing here is measured.
bagua.cluster @h100_nvlink_400g
    axes [#bagua.axis<"node", size = 8, latency_ns = 5000, bytes_per_s = 50000000000>,
          #bagua.axis<"gpu", size = 8, latency_ns = 3000, bytes_per_s = 450000000000>]
    device #bagua.device<flop_per_s = 66900000000000, bytes_per_s = 3350000000000, launch_ns = 3000>
    servers_on [node] rings_and_trees
