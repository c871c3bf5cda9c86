/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*===- bagua.h - The runtime for programs in C ------------------------------===
 *
 * One rank of a training program: it reads a plan, joins a world, makes a
 * session, and in each step gives tensors as they become ready and takes them
 * back. What a function does, when it may be called and what it returns is said
 * in the headers of C++ (bagua/Runtime/Session.h, Processes.h, Launch.h), whose
 * calls these are; here is what differs.
 *
 *   bagua_plan *plan;
 *   if (bagua_plan_read("step.bagua", &plan) != BAGUA_OK)
 *     die(bagua_last_error());
 *   bagua_world *world;           // started by torchrun, mpirun or srun
 *   bagua_world_launched(NULL, &world);
 *   bagua_session *session;
 *   bagua_session_create(plan, world, NULL, &session);
 *   uint32_t grad;
 *   bagua_session_find(session, "l1.weight.grad", &grad);
 *   bagua_session_start(session);
 *   for (...) {
 *     bagua_session_begin_step(session);
 *     ...                         // backward makes the gradient, at `data`
 *     bagua_session_mark_ready_at(session, grad, data, bytes);
 *     ...                         // more backward, overlapped
 *     bagua_session_wait(session, grad);  // now the mean over all ranks
 *     bagua_session_end_step(session);
 *   }
 *   bagua_session_finish(session);
 *
 * Errors are codes; bagua_last_error() has the message. Handles that a call
 * makes are the caller's, to be freed by the function of their kind, to which
 * null is nothing. A session keeps its plan and its world, whose handles may be
 * freed before it. A null handle is INVALID_ARGUMENT; where a number is
 * returned and no code, it is -1, or 0 where that can't be negative. Sizes are
 * in bytes, counts in elements. Text is UTF-8. A forked process has no session
 * and no world: calls are FAILED_PRECONDITION, and freeing them does nothing;
 * communicators are not to be used there.
 *
 * The interface is stable: functions, codes and numbers stay what they are.
 * Structs that grow begin with their size, as the program was compiled.
 *
 *===----------------------------------------------------------------------===*/
#ifndef BAGUA_BAGUA_H
#define BAGUA_BAGUA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Raised where something here changes its meaning, not where it is added. */
#define BAGUA_API_VERSION 1

/** BAGUA_API_VERSION of the library that is linked. */
uint32_t bagua_api_version(void);

/** Codes of absl::Status. */
typedef int32_t bagua_code;
enum {
  BAGUA_OK = 0,
  BAGUA_CANCELLED = 1,
  BAGUA_UNKNOWN = 2,
  BAGUA_INVALID_ARGUMENT = 3,
  BAGUA_DEADLINE_EXCEEDED = 4,
  BAGUA_NOT_FOUND = 5,
  BAGUA_ALREADY_EXISTS = 6,
  BAGUA_PERMISSION_DENIED = 7,
  BAGUA_RESOURCE_EXHAUSTED = 8,
  BAGUA_FAILED_PRECONDITION = 9,
  BAGUA_ABORTED = 10,
  BAGUA_OUT_OF_RANGE = 11,
  BAGUA_UNIMPLEMENTED = 12,
  BAGUA_INTERNAL = 13,
  BAGUA_UNAVAILABLE = 14,
  BAGUA_DATA_LOSS = 15,
  BAGUA_UNAUTHENTICATED = 16
};

/** The message of the last call on this thread that failed, until the next one
 * that fails. Empty before. */
const char *bagua_last_error(void);

/** What that error speaks of, -1 where of none: the rank at fault as far as is
 * known, and of the plan a tensor and an instruction, by number, and the step
 * (bagua/Runtime/ErrorPlace.h). Each may be null. */
void bagua_last_error_place(int64_t *rank, int64_t *tensor,
                            int64_t *instruction, int64_t *step);

/** Numbers of bagua/Support/DataType.h, ReduceKind.h and PlanTensor.h. */
typedef int32_t bagua_type;
enum {
  BAGUA_FLOAT32 = 0,
  BAGUA_FLOAT16 = 1,
  BAGUA_BFLOAT16 = 2,
  BAGUA_FLOAT64 = 3,
  BAGUA_INT8 = 4,
  BAGUA_INT32 = 5,
  BAGUA_INT64 = 6
};

typedef int32_t bagua_reduce_kind;
enum { BAGUA_SUM = 0, BAGUA_MEAN = 1, BAGUA_MIN = 2, BAGUA_MAX = 3 };

typedef int32_t bagua_role;
enum {
  BAGUA_BATCH = 0,
  BAGUA_INPUT = 1,
  BAGUA_PARAM = 2,
  BAGUA_OPTIMIZER = 3,
  BAGUA_BUFFER = 4,
  BAGUA_RESIDUAL = 5,
  BAGUA_REPLICA = 6,
  BAGUA_GRADIENT = 7,
  BAGUA_VALUE = 8
};

/*===--- Plans ---===*/

typedef struct bagua_plan bagua_plan;

/** What a program may know of a tensor; valid as long as the plan's handle. */
typedef struct bagua_tensor {
  const char *name;
  bagua_role role;
  bagua_type type;
  /** Of the whole tensor: `dimensions` sizes. */
  const int64_t *shape;
  size_t dimensions;
  /** 1 or 0: the program gives it in each step; may give it as absent; it lives
   * in an arena, and is not to be bound. */
  int is_given;
  int is_optional;
  int is_in_arena;
} bagua_tensor;

bagua_code bagua_plan_read(const char *path, bagua_plan **plan);
bagua_code bagua_plan_from_bytes(const void *bytes, size_t size,
                                 bagua_plan **plan);
void bagua_plan_free(bagua_plan *plan);
uint64_t bagua_plan_fingerprint(const bagua_plan *plan);
/** Workers and servers. */
int bagua_plan_ranks(const bagua_plan *plan);
int bagua_plan_servers(const bagua_plan *plan);
size_t bagua_plan_tensor_count(const bagua_plan *plan);
/** 1 where the program's updates are to run right before the next forward needs
 * them (updates=late of the strategy), 0 where they follow their gradients. */
int bagua_plan_has_late_updates(const bagua_plan *plan);
/** Of the tensor of this number, which is what find() gives. */
bagua_code bagua_plan_tensor(const bagua_plan *plan, uint32_t number,
                             bagua_tensor *tensor);

/** bagua::runtime::StepFigures: what a step took, as measured on this rank; or
 * what its plan was predicted to take. */
typedef struct bagua_step_figures {
  /** sizeof(bagua_step_figures), to be set before the call. */
  size_t struct_size;
  int64_t step;
  /** From the step's beginning to the next one's, or to the end of finish. */
  double seconds;
  /** How much of that the program waited for communication. */
  double exposed_seconds;
  int64_t bytes_sent;
} bagua_step_figures;

/** Of a step of the plan, whose number is -1; NOT_FOUND where the plan doesn't
 * say, as those of format 1.0. */
bagua_code bagua_plan_predicted_figures(const bagua_plan *plan,
                                        bagua_step_figures *figures);

/*===--- Worlds ---===*/

typedef struct bagua_world bagua_world;

/** bagua::runtime::ProcessOptions; null and 0 are its defaults. */
typedef struct bagua_world_options {
  /** sizeof(bagua_world_options). */
  size_t struct_size;
  /** Not of bagua_world_launched, to which the launcher says them. */
  int rank;
  int size;
  /** A file that all ranks reach, by which they meet. */
  const char *rendezvous;
  /** Or where rank 0 listens: "10.0.0.1:29500", or at the first free one of
   * "10.0.0.1:29500-29509". */
  const char *address;
  const char *host;
  const char *interface_name;
  double timeout_seconds;
  double patience_seconds;
  size_t shared_bytes;
  /** In place of `rendezvous`: texts by name that all ranks reach, as a
   * launcher has. Called by the thread that connects. `store_set` replaces what
   * is there and returns 0, or anything else where it fails. `store_get`
   * returns the length of what is there, and copies it to `text` if that is at
   * most `capacity`; -1: nothing yet; less: it failed, and so does the call
   * (ABORTED). Both are set, or none. */
  int (*store_set)(void *store_user, const char *name, const char *text);
  int64_t (*store_get)(void *store_user, const char *name, char *text,
                       size_t capacity);
  void *store_user;
} bagua_world_options;

/** Ranks that are processes. */
bagua_code bagua_world_connect(const bagua_world_options *options,
                               bagua_world **world);
/** 1 where torchrun, mpirun or srun has started this process, also where what
 * it says does not fit; else 0. */
int bagua_is_launched(void);
/** The same, started by torchrun, mpirun or srun, whose variables say who this
 * is; `options` may be null. FAILED_PRECONDITION where none of them did. */
bagua_code bagua_world_launched(const bagua_world_options *options,
                                bagua_world **world);
/** Ranks that are threads of this process: stores `size` handles. */
bagua_code bagua_worlds_in_process(int size, double timeout_seconds,
                                   bagua_world **worlds);
/** Leaves, once sessions and communicators are freed, too. */
void bagua_world_free(bagua_world *world);
int bagua_world_rank(const bagua_world *world);
int bagua_world_size(const bagua_world *world);
/** How many hosts the ranks are on. */
int bagua_world_hosts(const bagua_world *world);
/** Counts what all ranks make in one order, for names of communicators. */
int bagua_world_next_number(bagua_world *world);
/** Limits for how long rank 0's process stays for others once the world is
 * freed, to the patience. Without it, it stays until all have left: too long
 * where a program ends that may have failed. */
void bagua_world_limit_stay(bagua_world *world);
/** From any thread. */
void bagua_world_abort(bagua_world *world, const char *why);

/** bagua/Runtime/Waits.h: who waits where, for what and since when, as text of
 * `size` bytes, to be freed by bagua_bytes_free. From any thread, while others
 * hang. */
bagua_code bagua_describe_waits(void **text, size_t *size);

/*===--- Collectives, beside those of plans ---===*/

typedef struct bagua_communicator bagua_communicator;

/** Of `count` ranks; all where `members` is null. Collective over them. */
bagua_code bagua_communicator_create(bagua_world *world, const int *members,
                                     int count, const char *name,
                                     bagua_communicator **communicator);
/** bagua::runtime::CommunicatorOptions; null and 0 are the world's. */
typedef struct bagua_communicator_options {
  /** sizeof(bagua_communicator_options). */
  size_t struct_size;
  double timeout_seconds;
  /** Called on the thread that waits, with `user`. */
  void (*on_warning)(void *user, const char *text);
  void *user;
} bagua_communicator_options;

/** The same, of which this rank says how long it waits. */
bagua_code
bagua_communicator_create_with(bagua_world *world, const int *members,
                               int count, const char *name,
                               const bagua_communicator_options *options,
                               bagua_communicator **communicator);
void bagua_communicator_free(bagua_communicator *communicator);
/** States a fact that all members must have alike in the calls after this one
 * (bagua/Runtime/Agreement.h): where they differ, these are INVALID_ARGUMENT on
 * all, and the message says who has which. `meaning` says what the value stands
 * for; null: a number, or what was said of it before. */
bagua_code bagua_communicator_agree_on(bagua_communicator *communicator,
                                       const char *fact, uint64_t value,
                                       const char *meaning);
bagua_code bagua_all_reduce(bagua_communicator *communicator, const void *input,
                            void *output, int64_t count, bagua_type type,
                            bagua_reduce_kind kind);
/** `count` elements of each member's, in the order of members. */
bagua_code bagua_all_gather(bagua_communicator *communicator, const void *input,
                            void *output, int64_t count, bagua_type type);
/** From member `root` to all, in place. */
bagua_code bagua_broadcast(bagua_communicator *communicator, void *data,
                           int64_t count, bagua_type type, int root);
bagua_code bagua_barrier(bagua_communicator *communicator);

/*===--- Sessions ---===*/

typedef struct bagua_session bagua_session;

/** bagua::runtime::SessionOptions; null and 0 are its defaults, and the world's
 * timeout. */
typedef struct bagua_session_options {
  /** sizeof(bagua_session_options). */
  size_t struct_size;
  double timeout_seconds;
  /** Called on any thread with `user`. */
  void (*on_warning)(void *user, const char *text);
  void *user;
} bagua_session_options;

bagua_code bagua_session_create(const bagua_plan *plan, bagua_world *world,
                                const bagua_session_options *options,
                                bagua_session **session);
void bagua_session_free(bagua_session *session);
bagua_code bagua_session_find(const bagua_session *session, const char *name,
                              uint32_t *tensor);
/** -1 for a number that no tensor has. */
int64_t bagua_session_local_bytes(const bagua_session *session,
                                  uint32_t tensor);
bagua_code bagua_session_bind(bagua_session *session, uint32_t tensor,
                              void *data, size_t bytes);
bagua_code bagua_session_address(bagua_session *session, uint32_t tensor,
                                 size_t bytes, void **data);
typedef struct bagua_memory bagua_memory;
/** The address of a tensor that lives in an arena; what is there stays until
 * bagua_memory_free, beyond the session. */
bagua_code bagua_session_hold(bagua_session *session, uint32_t tensor,
                              size_t bytes, void **data, bagua_memory **memory);
void bagua_memory_free(bagua_memory *memory);
bagua_code bagua_session_bind_or_locate(bagua_session *session, uint32_t tensor,
                                        void *data, size_t bytes, void **place);
/** 1 or 0. */
int bagua_session_program_updates(bagua_session *session, const char *name);
bagua_code bagua_session_start(bagua_session *session);
/** The number of the first instruction that waits for the tensor to be given;
 * -1 where none does, and before start. */
int64_t bagua_session_first_waiter(const bagua_session *session,
                                   uint32_t tensor);
/** As bagua_communicator_agree_on, of the steps that begin after this; and of a
 * tensor, from its next gift on. */
bagua_code bagua_session_agree_on(bagua_session *session, const char *fact,
                                  uint64_t value, const char *meaning);
bagua_code bagua_session_agree_on_tensor(bagua_session *session,
                                         uint32_t tensor, uint64_t value,
                                         const char *meaning);
bagua_code bagua_session_begin_step(bagua_session *session);
bagua_code bagua_session_mark_ready(bagua_session *session, uint32_t tensor);
bagua_code bagua_session_mark_ready_at(bagua_session *session, uint32_t tensor,
                                       void *data, size_t bytes);
bagua_code bagua_session_mark_absent(bagua_session *session, uint32_t tensor);
bagua_code bagua_session_mark_absent_at(bagua_session *session, uint32_t tensor,
                                        void *data, size_t bytes);
/** Of many at once, one after the other, up to the first error. Without `data`
 * all are ready where they are bound or live. */
bagua_code bagua_session_mark_each_ready(bagua_session *session,
                                         const uint32_t *tensors,
                                         void *const *data, const size_t *bytes,
                                         size_t count);
bagua_code bagua_session_wait(bagua_session *session, uint32_t tensor);
bagua_code bagua_session_wait_for_each(bagua_session *session,
                                       const uint32_t *tensors, size_t count);
/** 1 or 0. */
int bagua_session_is_ready(const bagua_session *session, uint32_t tensor);
/** Has `done` called once, with what wait() would return; `message` is valid
 * during the call, in which bagua_last_error_place() speaks of the same. */
bagua_code bagua_session_on_done(bagua_session *session, uint32_t tensor,
                                 void (*done)(void *user, bagua_code code,
                                              const char *message),
                                 void *user);
bagua_code bagua_session_end_step(bagua_session *session);
/** Between steps: until all workers that this one communicates with have come
 * here; an error where one has begun a step instead. */
bagua_code bagua_session_barrier(bagua_session *session);
bagua_code bagua_session_finish(bagua_session *session);
/** From any thread, beside any other call. */
void bagua_session_abort(bagua_session *session, const char *why);
int64_t bagua_session_step(const bagua_session *session);
int64_t bagua_session_bytes_sent(const bagua_session *session);
int64_t bagua_session_arena_bytes(const bagua_session *session);

/** Of the newest step that is done (`back` is 0), or of the one that lies
 * `back` steps before it; of the last 64, else OUT_OF_RANGE. */
bagua_code bagua_session_step_figures(const bagua_session *session,
                                      int64_t back,
                                      bagua_step_figures *figures);
/** Bytes for a checkpoint, to be freed by bagua_bytes_free. */
bagua_code bagua_session_save_state(const bagua_session *session, void **bytes,
                                    size_t *size);
bagua_code bagua_session_load_state(bagua_session *session, const void *bytes,
                                    size_t size);
void bagua_bytes_free(void *bytes);

/*===--- Checkpoints (bagua/Runtime/Checkpoint.h) ---===*/

/** A crash leaves what the file held before, or these bytes. */
bagua_code bagua_write_checkpoint(const char *path, const void *bytes,
                                  size_t size);
/** Stores the place in `paths` of the state of the latest step of which every
 * rank has one, and whether there is one. Collective over the world. */
bagua_code bagua_find_newest_checkpoint(bagua_world *world,
                                        const char *const *paths, size_t count,
                                        int *is_found, size_t *newest);

#ifdef __cplusplus
}
#endif

#endif /* BAGUA_BAGUA_H */
