/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*===- bagua.h - The runtime for programs in C ------------------------------===
 *
 * For one rank of a training program. The program reads a plan, joins a world
 * and creates a session; in each step it gives tensors as they are computed,
 * and takes them back. The functions are the calls of the C++ headers
 * (bagua/Runtime/Session.h, Processes.h, Launch.h), which say what a call does,
 * when it is allowed and which errors it returns. The comments here say what
 * differs.
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
 * Errors are codes; bagua_last_error() has the message. The caller owns each
 * handle that a call creates, and frees it by the function of its kind, which
 * ignores null. No other call may use a handle while it is freed. A session
 * keeps its plan and its world alive, so their handles may be freed before it.
 * A null handle is INVALID_ARGUMENT; a function that returns a number and no
 * code then returns -1, or 0 if its type is unsigned. Sizes are in bytes,
 * counts in elements. Text is UTF-8. A forked process has no session and no
 * world: calls are FAILED_PRECONDITION, and freeing them does nothing;
 * communicators and queues must not be used there.
 *
 * The interface is stable: functions, codes and numbers stay what they are. A
 * struct that may grow begins with its size, as the program was compiled.
 *
 *===----------------------------------------------------------------------===*/
#ifndef BAGUA_BAGUA_H
#define BAGUA_BAGUA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Raised if something here changes its meaning, not if something is added. */
#define BAGUA_API_VERSION 1

/** BAGUA_API_VERSION of the library that is linked. */
uint32_t bagua_api_version(void);

/** The codes of absl::Status. */
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

/** The message of the last call on this thread that failed. Empty if none has
 * failed. Valid until the next call that fails. */
const char *bagua_last_error(void);

/** Where the error of bagua_last_error happened (bagua/Runtime/ErrorPlace.h):
 * the rank at fault, as far as is known, the numbers of a tensor and an
 * instruction of the plan, and the step. A value is -1 if the error names none.
 * Each pointer may be null. */
void bagua_last_error_place(int64_t *rank, int64_t *tensor,
                            int64_t *instruction, int64_t *step);

/** The numbers of bagua/Support/DataType.h, ReduceKind.h and PlanTensor.h. */
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

/** What a program may know of a tensor. Valid as long as the plan's handle. */
typedef struct bagua_tensor {
  const char *name;
  bagua_role role;
  bagua_type type;
  /** The shape of the whole tensor: `dimensions` sizes. */
  const int64_t *shape;
  size_t dimensions;
  /** 1 or 0: whether the program gives the tensor in each step, whether it may
   * give it as absent, and whether the tensor lives in an arena and so can't be
   * bound. */
  int is_given;
  int is_optional;
  int is_in_arena;
} bagua_tensor;

bagua_code bagua_plan_read(const char *path, bagua_plan **plan);
bagua_code bagua_plan_from_bytes(const void *bytes, size_t size,
                                 bagua_plan **plan);
void bagua_plan_free(bagua_plan *plan);
uint64_t bagua_plan_fingerprint(const bagua_plan *plan);
/** The number of workers and servers together. */
int bagua_plan_ranks(const bagua_plan *plan);
int bagua_plan_servers(const bagua_plan *plan);
size_t bagua_plan_tensor_count(const bagua_plan *plan);
/** 1 if the program runs its updates right before the next forward needs them
 * (the strategy's updates=late), 0 if they follow their gradients. */
int bagua_plan_has_late_updates(const bagua_plan *plan);
/** Describes the tensor of this number. Numbers are those that
 * bagua_session_find stores. */
bagua_code bagua_plan_tensor(const bagua_plan *plan, uint32_t number,
                             bagua_tensor *tensor);

/** bagua::runtime::StepFigures: the figures of a step, as measured on this rank
 * or as predicted for a plan. */
typedef struct bagua_step_figures {
  /** sizeof(bagua_step_figures). The caller sets it before the call. */
  size_t struct_size;
  int64_t step;
  /** The time from the step's beginning to the next one's, or to the end of
   * finish. */
  double seconds;
  /** The part of `seconds` that the program waited for communication. */
  double exposed_seconds;
  int64_t bytes_sent;
} bagua_step_figures;

/** The prediction for a step of the plan, with step number -1: if the plan has
 * several, for the one that iteration 0 runs. NOT_FOUND if the plan holds no
 * prediction. */
bagua_code bagua_plan_predicted_figures(const bagua_plan *plan,
                                        bagua_step_figures *figures);

/*===--- Worlds ---===*/

typedef struct bagua_world bagua_world;

/** bagua::runtime::ProcessOptions. Null and 0 stand for its defaults. */
typedef struct bagua_world_options {
  /** sizeof(bagua_world_options). */
  size_t struct_size;
  /** Rank and number of ranks. bagua_world_launched ignores them: the launcher
   * says both. */
  int rank;
  int size;
  /** The path of a file that all ranks can reach, by which they meet. */
  const char *rendezvous;
  /** Alternatively, where rank 0 listens: "10.0.0.1:29500", or at the first
   * free one of "10.0.0.1:29500-29509". */
  const char *address;
  const char *host;
  const char *interface_name;
  double timeout_seconds;
  double patience_seconds;
  size_t shared_bytes;
  /** In place of `rendezvous`: a store of texts by name that all ranks can
   * reach, such as a launcher's. The connecting thread calls these functions.
   * `store_set` replaces the text of a name; it returns 0, or anything else if
   * it fails. `store_get` returns the length of a text, and copies it to `text`
   * if the length is at most `capacity`. It returns -1 if there is no text yet;
   * any lower number means failure, and the call that connects fails, too
   * (ABORTED). Either both functions are set, or none. */
  int (*store_set)(void *store_user, const char *name, const char *text);
  int64_t (*store_get)(void *store_user, const char *name, char *text,
                       size_t capacity);
  void *store_user;
} bagua_world_options;

/** Connects ranks that are processes. */
bagua_code bagua_world_connect(const bagua_world_options *options,
                               bagua_world **world);
/** 1 if torchrun, mpirun or srun has started this process, even if the
 * launcher's variables are inconsistent; else 0. */
int bagua_is_launched(void);
/** Connects a process that torchrun, mpirun or srun has started; the launcher's
 * variables say which rank it is. `options` may be null. FAILED_PRECONDITION if
 * none of these launchers has started it. */
bagua_code bagua_world_launched(const bagua_world_options *options,
                                bagua_world **world);
/** Creates ranks that are threads of this process: stores `size` handles in
 * `worlds`. */
bagua_code bagua_worlds_in_process(int size, double timeout_seconds,
                                   bagua_world **worlds);
/** Frees the handle. The rank leaves the run once its sessions and
 * communicators are freed, too. */
void bagua_world_free(bagua_world *world);
int bagua_world_rank(const bagua_world *world);
int bagua_world_size(const bagua_world *world);
/** The number of hosts that the ranks are on. */
int bagua_world_hosts(const bagua_world *world);
/** The number of the next object that all ranks create in the same order. Names
 * of communicators are made from it. */
int bagua_world_next_number(bagua_world *world);
/** Limits how long rank 0's process waits for others to leave, after the world
 * is freed, to the patience. By default it waits until all have left, which is
 * too long if the program ends after a failure. */
void bagua_world_limit_stay(bagua_world *world);
/** Ends the run on all ranks. May be called from any thread. */
void bagua_world_abort(bagua_world *world, const char *why);

/** bagua/Runtime/Waits.h: which rank waits where, for what and since when, as
 * text of `size` bytes, to be freed by bagua_bytes_free. May be called from any
 * thread, while others hang. */
bagua_code bagua_describe_waits(void **text, size_t *size);

/*===--- Collectives, beside those of plans ---===*/

typedef struct bagua_communicator bagua_communicator;

/** Creates a communicator over `count` ranks; over all ranks if `members` is
 * null. Collective over the members. */
bagua_code bagua_communicator_create(bagua_world *world, const int *members,
                                     int count, const char *name,
                                     bagua_communicator **communicator);
/** bagua::runtime::CommunicatorOptions. Null and 0 stand for the world's. */
typedef struct bagua_communicator_options {
  /** sizeof(bagua_communicator_options). */
  size_t struct_size;
  double timeout_seconds;
  /** Called on the waiting thread, with `user`. */
  void (*on_warning)(void *user, const char *text);
  void *user;
} bagua_communicator_options;

/** The same, with options of this rank. */
bagua_code
bagua_communicator_create_with(bagua_world *world, const int *members,
                               int count, const char *name,
                               const bagua_communicator_options *options,
                               bagua_communicator **communicator);
void bagua_communicator_free(bagua_communicator *communicator);
/** States a fact that all members must state alike in later calls
 * (bagua/Runtime/Agreement.h). If members differ, these calls are
 * INVALID_ARGUMENT on all members, and the message says who has which value.
 * `meaning` says what the value stands for. If it is null, messages show the
 * meaning that was given for this value before, or else the number. */
bagua_code bagua_communicator_agree_on(bagua_communicator *communicator,
                                       const char *fact, uint64_t value,
                                       const char *meaning);
bagua_code bagua_all_reduce(bagua_communicator *communicator, const void *input,
                            void *output, int64_t count, bagua_type type,
                            bagua_reduce_kind kind);
/** Gathers `count` elements of each member, in the order of members. */
bagua_code bagua_all_gather(bagua_communicator *communicator, const void *input,
                            void *output, int64_t count, bagua_type type);
/** Sends `data` of member `root` to all members, in place. */
bagua_code bagua_broadcast(bagua_communicator *communicator, void *data,
                           int64_t count, bagua_type type, int root);
bagua_code bagua_barrier(bagua_communicator *communicator);

/*===--- Queues ---===*/

/** Work in order on a device (bagua/Runtime/Queue.h). The CPU's queue runs work
 * at once. A session that was given tensors after a queue, or let one wait,
 * keeps the queue, and waits for its work when it is freed. */
typedef struct bagua_queue bagua_queue;

/** A queue of the device of a backend, which is named as in
 * bagua_session_options. */
bagua_code bagua_queue_create(bagua_world *world, const char *backend,
                              bagua_queue **queue);
/** Waits for the work, for at most the world's timeout. Work that takes longer
 * goes on. */
void bagua_queue_free(bagua_queue *queue);
bagua_code bagua_queue_copy(bagua_queue *queue, void *to, const void *from,
                            size_t bytes);
bagua_code bagua_queue_zero(bagua_queue *queue, void *to, size_t bytes);
/** 0 seconds: the world's timeout. */
bagua_code bagua_queue_drain(bagua_queue *queue, double limit_seconds);

/*===--- Sessions ---===*/

typedef struct bagua_session bagua_session;

/** bagua::runtime::SessionOptions. Null and 0 stand for its defaults, but that
 * the timeout is then the world's. */
typedef struct bagua_session_options {
  /** sizeof(bagua_session_options). */
  size_t struct_size;
  double timeout_seconds;
  /** Called on any thread, with `user`. */
  void (*on_warning)(void *user, const char *text);
  void *user;
  /** The name of a backend of this run (bagua/Runtime/Backend.h), whose device
   * has the tensors. Null: the CPU. */
  const char *backend;
  /** The number of the session's first step, if it loads no state. */
  int64_t first_step;
} bagua_session_options;

bagua_code bagua_session_create(const bagua_plan *plan, bagua_world *world,
                                const bagua_session_options *options,
                                bagua_session **session);
void bagua_session_free(bagua_session *session);
bagua_code bagua_session_find(const bagua_session *session, const char *name,
                              uint32_t *tensor);
/** Bytes that this rank stores of the tensor; -1 if no tensor has this number.
 */
int64_t bagua_session_local_bytes(const bagua_session *session,
                                  uint32_t tensor);
bagua_code bagua_session_bind(bagua_session *session, uint32_t tensor,
                              void *data, size_t bytes);
bagua_code bagua_session_address(bagua_session *session, uint32_t tensor,
                                 size_t bytes, void **data);
typedef struct bagua_memory bagua_memory;
/** Stores the address of a tensor that lives in an arena. The memory stays
 * valid until bagua_memory_free, even after the session is freed. */
bagua_code bagua_session_hold(bagua_session *session, uint32_t tensor,
                              size_t bytes, void **data, bagua_memory **memory);
void bagua_memory_free(bagua_memory *memory);
bagua_code bagua_session_bind_or_locate(bagua_session *session, uint32_t tensor,
                                        void *data, size_t bytes, void **place);
/** 1 or 0; see Session::programUpdates. */
int bagua_session_program_updates(bagua_session *session, const char *name);
bagua_code bagua_session_start(bagua_session *session);
/** The number of the first instruction that waits for the tensor to be given;
 * -1 if none does, and before start. */
int64_t bagua_session_first_waiter(const bagua_session *session,
                                   uint32_t tensor);
/** These state facts as bagua_communicator_agree_on does: one for the steps
 * that begin later, and one of a tensor, from the next time it is given. */
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
/** Gives several tensors, one after the other, up to the first error. If `data`
 * is null, each is given where it is bound or lives in an arena. */
bagua_code bagua_session_mark_each_ready(bagua_session *session,
                                         const uint32_t *tensors,
                                         void *const *data, const size_t *bytes,
                                         size_t count);
/** Gives a tensor that is complete, or absent, after the work that a queue has
 * so far. If `data` is null and `bytes` 0, the tensor is given where it is
 * bound or lives in an arena. */
bagua_code bagua_session_mark_ready_after(bagua_session *session,
                                          uint32_t tensor, void *data,
                                          size_t bytes, bagua_queue *after);
bagua_code bagua_session_mark_absent_after(bagua_session *session,
                                           uint32_t tensor, void *data,
                                           size_t bytes, bagua_queue *after);
bagua_code bagua_session_wait(bagua_session *session, uint32_t tensor);
/** May return before the runtime is done with the tensor: later work of the
 * queue finds the tensor done. */
bagua_code bagua_session_wait_before(bagua_session *session, uint32_t tensor,
                                     bagua_queue *before);
bagua_code bagua_session_wait_for_each(bagua_session *session,
                                       const uint32_t *tensors, size_t count);
/** 1 or 0: whether the step of the open iteration, or of the next one between
 * iterations, has instructions that use the tensor or wait for it. If a plan
 * has several steps, the program gives only what the iteration's step uses. */
int bagua_session_step_uses(const bagua_session *session, uint32_t tensor);
/** 1 or 0: whether bagua_session_wait would return without waiting. */
int bagua_session_is_ready(const bagua_session *session, uint32_t tensor);
/** Arranges that `done` is called once, with the result that bagua_session_wait
 * would have. `message` is valid during the call, in which
 * bagua_last_error_place() describes the same error. */
bagua_code bagua_session_on_done(bagua_session *session, uint32_t tensor,
                                 void (*done)(void *user, bagua_code code,
                                              const char *message),
                                 void *user);
bagua_code bagua_session_end_step(bagua_session *session);
/** Between steps: waits until all workers with which this one communicates have
 * called this. An error if one has begun a step instead. */
bagua_code bagua_session_barrier(bagua_session *session);
bagua_code bagua_session_finish(bagua_session *session);
/** Ends the run on all ranks. May be called from any thread, beside any other
 * call. */
void bagua_session_abort(bagua_session *session, const char *why);
int64_t bagua_session_step(const bagua_session *session);
int64_t bagua_session_bytes_sent(const bagua_session *session);
int64_t bagua_session_arena_bytes(const bagua_session *session);

/** The figures of the newest step that is done (`back` is 0), or of the one
 * `back` steps before it. OUT_OF_RANGE if the step is not among the last 64. */
bagua_code bagua_session_step_figures(const bagua_session *session,
                                      int64_t back,
                                      bagua_step_figures *figures);
/** This rank's state for a checkpoint. The bytes are to be freed by
 * bagua_bytes_free. */
bagua_code bagua_session_save_state(const bagua_session *session, void **bytes,
                                    size_t *size);
bagua_code bagua_session_load_state(bagua_session *session, const void *bytes,
                                    size_t size);
void bagua_bytes_free(void *bytes);

/*===--- Checkpoints (bagua/Runtime/Checkpoint.h) ---===*/

/** Replaces the file. After a crash the file holds either its old contents or
 * these bytes. */
bagua_code bagua_write_checkpoint(const char *path, const void *bytes,
                                  size_t size);
/** Stores in `newest` the index in `paths` of the newest state that every rank
 * has, and in `is_found` whether there is one. Collective over the world. */
bagua_code bagua_find_newest_checkpoint(bagua_world *world,
                                        const char *const *paths, size_t count,
                                        int *is_found, size_t *newest);

#ifdef __cplusplus
}
#endif

#endif /* BAGUA_BAGUA_H */
