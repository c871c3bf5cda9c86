/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*===- MpiAllReduce.c - MPI's all_reduce, for comparison --------------------===
 *
 * Times float32 MPI_Allreduce in place as bench/AllReduceBench.cpp times ours:
 * the same sizes, batches and output lines. bench/all-reduce.py runs it.
 *
 *===-----------------------------------------------------------------------===*/
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One sample: microseconds a call, from the first rank's start to the last
 * one's end. MPI_Wtime is the same clock on all ranks of a host. */
static double sample(float *data, int count, int batch) {
  double times[2], spread[2];
  MPI_Barrier(MPI_COMM_WORLD);
  times[0] = -MPI_Wtime();
  for (int i = 0; i < batch; ++i)
    MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
  times[1] = MPI_Wtime();
  MPI_Allreduce(times, spread, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return 1e6 * (spread[1] + spread[0]) / batch;
}

static void checkSum(float *data, long count, int size) {
  for (long i = 0; i < count; ++i)
    data[i] = 1;
  MPI_Allreduce(MPI_IN_PLACE, data, (int)count, MPI_FLOAT, MPI_SUM,
                MPI_COMM_WORLD);
  for (long i = 0; i < count; ++i)
    if (data[i] != size) {
      fprintf(stderr, "openmpi gave a wrong sum\n");
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  memset(data, 0, count * 4);
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: %s MIN_BYTES MAX_BYTES REPETITIONS\n", argv[0]);
    return 1;
  }
  long minBytes = atol(argv[1]), maxBytes = atol(argv[2]);
  int repetitions = atoi(argv[3]), rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (long bytes = minBytes; bytes <= maxBytes; bytes *= 4) {
    long count = bytes / 4, batch = (1l << 20) / count;
    batch = batch < 1 ? 1 : batch > 2000 ? 2000 : batch;
    float *data = malloc(bytes);
    if (!data)
      MPI_Abort(MPI_COMM_WORLD, 1);
    checkSum(data, count, size);
    for (int i = 0; i < repetitions; ++i) {
      double us = sample(data, (int)count, (int)batch);
      if (rank == 0)
        printf("openmpi,%d,%ld,%.4f\n", size, bytes, us);
    }
    free(data);
  }
  MPI_Finalize();
  return 0;
}
