/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* means.c - A rank in C: gives every gradient of a plan at an address of each
 * step's, made by a formula, and checks that it gets the mean over all ranks.
 *
 *   means PLAN [HOST [INTERFACE]]
 *
 * Ranks are those of the launcher. HOST and INTERFACE stand for hosts that this
 * one machine has not got.
 */
#include <bagua/bagua.h>

#include <stdio.h>
#include <stdlib.h>

#define STEPS 5

static void check(bagua_code code) {
  if (code == BAGUA_OK)
    return;
  fprintf(stderr, "means: error %d: %s\n", (int)code, bagua_last_error());
  exit(1);
}

/* Whole numbers, so that no sum is rounded. */
static float valueOf(int rank, int64_t step, size_t tensor, size_t element) {
  return (float)(rank + step + tensor % 50 + element % 100);
}

int main(int argc, char **argv) {
  bagua_world_options options = {0};
  bagua_plan *plan;
  bagua_world *world;
  bagua_session *session;
  size_t count, i, j;
  float **memory;
  int64_t step, gradients = 0;
  int rank, size;

  if (argc < 2) {
    fprintf(stderr, "means: expected a plan\n");
    return 2;
  }
  options.struct_size = sizeof(options);
  options.host = argc > 2 ? argv[2] : NULL;
  options.interface_name = argc > 3 ? argv[3] : NULL;
  check(bagua_plan_read(argv[1], &plan));
  check(bagua_world_launched(&options, &world));
  check(bagua_session_create(plan, world, NULL, &session));
  rank = bagua_world_rank(world);
  size = bagua_world_size(world);

  /* What is not given at an address is bound. */
  count = bagua_plan_tensor_count(plan);
  memory = calloc(count, sizeof(*memory));
  for (i = 0; i < count; ++i) {
    bagua_tensor tensor;
    size_t bytes = (size_t)bagua_session_local_bytes(session, (uint32_t)i);
    void *place;
    check(bagua_plan_tensor(plan, (uint32_t)i, &tensor));
    bagua_session_program_updates(session, tensor.name);
    if (tensor.is_given && tensor.role == BAGUA_GRADIENT &&
        tensor.type == BAGUA_FLOAT32)
      continue;
    memory[i] = calloc(1, bytes + 1);
    check(bagua_session_bind_or_locate(session, (uint32_t)i, memory[i], bytes,
                                       &place));
  }
  check(bagua_session_start(session));

  for (step = 0; step < STEPS; ++step) {
    float **gradient = calloc(count, sizeof(*gradient));
    check(bagua_session_begin_step(session));
    for (i = count; i-- > 0;) {
      bagua_tensor tensor;
      size_t bytes = (size_t)bagua_session_local_bytes(session, (uint32_t)i);
      check(bagua_plan_tensor(plan, (uint32_t)i, &tensor));
      if (!tensor.is_given)
        continue;
      if (memory[i]) {
        check(bagua_session_mark_ready(session, (uint32_t)i));
        continue;
      }
      gradient[i] = malloc(bytes);
      for (j = 0; j < bytes / sizeof(float); ++j)
        gradient[i][j] = valueOf(rank, step, i, j);
      check(bagua_session_mark_ready_at(session, (uint32_t)i, gradient[i],
                                        bytes));
    }
    for (i = 0; i < count; ++i) {
      size_t bytes = (size_t)bagua_session_local_bytes(session, (uint32_t)i);
      check(bagua_session_wait(session, (uint32_t)i));
      if (!gradient[i])
        continue;
      ++gradients;
      for (j = 0; j < bytes / sizeof(float); ++j) {
        float expected = valueOf(0, step, i, j) + (size - 1) / 2.0f;
        if (gradient[i][j] != expected) {
          fprintf(stderr, "means: rank %d: tensor %d: expected %g, found %g\n",
                  rank, (int)i, expected, gradient[i][j]);
          return 1;
        }
      }
      free(gradient[i]);
    }
    check(bagua_session_end_step(session));
    free(gradient);
  }
  check(bagua_session_finish(session));
  if (rank == 0)
    printf("%d ranks on %d hosts, %d gradients are means\n", size,
           bagua_world_hosts(world), (int)gradients);
  bagua_session_free(session);
  bagua_world_free(world);
  bagua_plan_free(plan);
  for (i = 0; i < count; ++i)
    free(memory[i]);
  free(memory);
  return 0;
}
