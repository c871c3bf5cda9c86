# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What users write in training steps, each as a small step of its own.

A construct is a function that returns a Step: trees of state, a batch, and one step of one rank, which talks to the
others through `comm`. Forms (forms.py) make programs of it. What a step's gradients are is said here, from the model,
for tests to compare with what an importer finds.
"""
import dataclasses
import math
from typing import Any, Callable

import jax
import jax.numpy as jnp
import optax
from jax import lax

BATCH, WIDTH, HIDDEN, CLASSES = 4, 8, 16, 4
# Forms that say how values lie on a mesh.
SHARDED = ("shard_map", "shardy", "shard_map_checked", "shardy_checked")

CONSTRUCTS: dict[str, Callable[[], "Step"]] = {}


@dataclasses.dataclass
class Step:
    """One step of one rank: run(comm, *states, batch) returns the next states, then the loss."""

    run: Callable[..., Any]
    # Argument names of the states, in order, and their first values.
    states: dict[str, Any]
    batch: Any
    # Paths into the states, as an importer writes them, of params that are trained by a mean over all ranks. None: not
    # compared, for shapes of parts depend on the number of ranks.
    gradients: dict[str, Any] | None = dataclasses.field(default_factory=dict)
    # The same where arguments have names, which tell roles; None: the same.
    gradients_named: dict[str, Any] | None = None
    # The same for one device, where nothing says what is a sum and what a mean; None: the same.
    gradients_alone: dict[str, Any] | None = None
    # Inputs that are the same everywhere: a learning rate.
    inputs: dict[str, Any] = dataclasses.field(default_factory=dict)
    donated: bool = True
    # States that tell a rank whether it communicates: as copies of a rank's own they would leave others waiting.
    alike: tuple = ()
    # Order of arguments and of results; None: states, batch, inputs, and states, loss.
    arguments: tuple | None = None
    results: tuple | None = None
    # Forms in which the construct exists; None: all.
    forms: tuple | None = None
    # Shape of the mesh, outermost first, and how states and batch lie on it; see forms.py.
    mesh: dict[str, int] | None = None
    specs: dict[str, Any] = dataclasses.field(default_factory=dict)
    # The same where values say over which axes they vary: gradients then arrive summed, one by one.
    gradients_checked: dict[str, Any] | None = None
    # How far XLA's own rounding goes, in units in the last place: it folds constants that reductions had kept apart.
    ulps: float = 0
    # And how far sums in another order go, on more than two devices, where gradients are of 16 bits.
    ulps_of_sums: float = 0
    # By form: what the message says where it is rightly refused.
    refused: dict[str, str] = dataclasses.field(default_factory=dict)


def construct(function):
    CONSTRUCTS[function.__name__] = function
    return function


# ---------------------------------------------------------------------------------------------
# A model, and the usual step
# ---------------------------------------------------------------------------------------------


def key(number=0):
    return jax.random.PRNGKey(number)


def dense(number, rows, columns):
    return {"kernel": jax.random.normal(key(number), (rows, columns)) / math.sqrt(rows), "bias": jnp.zeros(columns)}


def mlp_params():
    return {"first": dense(1, WIDTH, HIDDEN), "second": dense(2, HIDDEN, CLASSES)}


def apply_dense(layer, x):
    return x @ layer["kernel"] + layer["bias"]


def mlp(params, x):
    return apply_dense(params["second"], jnp.tanh(apply_dense(params["first"], x)))


def cross_entropy(logits, labels):
    logits = logits.astype(jnp.float32)
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=-1))


def data():
    return {"x": jax.random.normal(key(3), (BATCH, WIDTH)), "y": jax.random.randint(key(4), (BATCH,), 0, CLASSES)}


def mlp_loss(params, batch):
    return cross_entropy(mlp(params, batch["x"]), batch["y"])


def paths(tree, prefix=()):
    """Each leaf under its path, joined as importers do."""
    found = {}
    for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
        parts = [*prefix]
        for part in path:
            parts.append(str(getattr(part, "key", getattr(part, "idx", getattr(part, "name", part)))))
        found[".".join(parts)] = leaf
    return found


def trained(optimizer, params=None, loss=mlp_loss, batch=None, **rest):
    """A step with an optax optimizer, of gradients that are averaged first."""
    params = mlp_params() if params is None else params

    def run(comm, params, opt_state, batch):
        value, grads = jax.value_and_grad(loss)(params, batch)
        grads = comm.mean(grads)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, comm.mean(value)

    return Step(run, {"params": params, "opt_state": optimizer.init(params)}, data() if batch is None else batch,
                gradients=paths(params) if isinstance(params, (dict, list, tuple)) else {"params": params}, **rest)


# ---------------------------------------------------------------------------------------------
# Optimizers
# ---------------------------------------------------------------------------------------------

OPTIMIZERS = {
    "sgd": lambda: optax.sgd(0.1),
    "sgd_eighth": lambda: optax.sgd(0.125),
    "sgd_thousandth": lambda: optax.sgd(0.001),
    "sgd_one": lambda: optax.sgd(1.0),
    "momentum": lambda: optax.sgd(0.1, momentum=0.9),
    "nesterov": lambda: optax.sgd(0.1, momentum=0.9, nesterov=True),
    "sgd_weight_decay": lambda: optax.chain(optax.add_decayed_weights(1e-4), optax.sgd(0.1, momentum=0.9)),
    "sgd_schedule": lambda: optax.sgd(optax.cosine_decay_schedule(0.1, 1000), momentum=0.9),
    "adam": lambda: optax.adam(1e-3),
    "adam_eps_root": lambda: optax.adam(1e-3, eps_root=1e-8),
    "adam_nesterov": lambda: optax.nadam(1e-3),
    "adamw": lambda: optax.adamw(1e-3, weight_decay=0.01),
    "adamw_schedule_clip": lambda: optax.chain(
        optax.clip_by_global_norm(1.0), optax.adamw(optax.warmup_cosine_decay_schedule(0.0, 1e-3, 10, 1000))),
    "clip_elementwise": lambda: optax.chain(optax.clip(0.5), optax.sgd(0.1)),
    "lion": lambda: optax.lion(1e-4, weight_decay=0.1),
    "adafactor": lambda: optax.adafactor(1e-3, min_dim_size_to_factor=4),
    "lamb": lambda: optax.lamb(1e-3),
    "lars": lambda: optax.lars(0.1),
    "rmsprop": lambda: optax.rmsprop(1e-3),
    "rmsprop_momentum": lambda: optax.rmsprop(1e-3, momentum=0.9, centered=True),
    "adagrad": lambda: optax.adagrad(0.1),
    "inject_hyperparams": lambda: optax.inject_hyperparams(optax.adam)(1e-3),
    "multi_steps": lambda: optax.MultiSteps(optax.adam(1e-3), every_k_schedule=4),
    "apply_if_finite": lambda: optax.apply_if_finite(optax.sgd(0.1, momentum=0.9), max_consecutive_errors=5),
}
# Without reductions the mean would have to come before these numbers, which only the program can say.
SCALED = {"single": "it is scaled by a number that depends on it"}
BRANCHED = {"single": "its update depends on the batch through no single value of its shape"}
# Their updates stand in a branch, where no gradient can be told from another: reductions stay the step's own.
BRANCHES = {"gradients": {}, "gradients_alone": paths(mlp_params())}
# What it divides by is a difference, which may be small: so is what another order of the sums leaves of it.
CENTERED = {"ulps_of_sums": 64}
SPECIAL = {"multi_steps": BRANCHES, "apply_if_finite": BRANCHES, "rmsprop_momentum": CENTERED,
           **{name: {"refused": SCALED} for name in ("adamw_schedule_clip", "adafactor")}}
for _name, _make in OPTIMIZERS.items():
    CONSTRUCTS[_name] = lambda name=_name, make=_make: dataclasses.replace(trained(make()), **SPECIAL.get(name, {}))


@construct
def frozen_by_mask():
    """optax freezes a part of the params."""
    optimizer = optax.multi_transform({"train": optax.adam(1e-3), "freeze": optax.set_to_zero()},
                                      {"first": "freeze", "second": "train"})
    step = trained(optimizer)
    return dataclasses.replace(step, gradients={k: v for k, v in step.gradients.items() if k.startswith("second")})


@construct
def muon():
    from optax import contrib
    return dataclasses.replace(trained(contrib.muon(1e-3)), refused=BRANCHED)


@construct
def shampoo():
    """Preconditioners from both sides (Gupta et al., 2018), their roots by eigenvalues."""
    params = {"kernel": jax.random.normal(key(1), (WIDTH, CLASSES)) * 0.3}

    def root(matrix):
        values, vectors = jnp.linalg.eigh(matrix + 1e-4 * jnp.eye(matrix.shape[0]))
        return (vectors * values ** -0.25) @ vectors.T

    def run(comm, params, opt_state, batch):
        loss, grads = jax.value_and_grad(lambda p: cross_entropy(batch["x"] @ p["kernel"], batch["y"]))(params)
        grad = comm.mean(grads)["kernel"]
        left, right = opt_state["left"] + grad @ grad.T, opt_state["right"] + grad.T @ grad
        kernel = params["kernel"] - 0.1 * root(left) @ grad @ root(right)
        return {"kernel": kernel}, {"left": left, "right": right}, comm.mean(loss)

    state = {"left": jnp.eye(WIDTH), "right": jnp.eye(CLASSES)}
    return Step(run, {"params": params, "opt_state": state}, data(), gradients=paths(params))


def by_hand(combine, combine_loss, rate=0.1, loss=lambda comm, params, batch: mlp_loss(params, batch), **rest):
    """SGD without a library; `combine` makes one gradient of all ranks'."""
    def run(comm, params, batch):
        value, grads = jax.value_and_grad(lambda p: loss(comm, p, batch))(params)
        grads = combine(comm, grads)
        return jax.tree.map(lambda p, g: p - rate * g, params, grads), combine_loss(comm, value)

    return Step(run, {"params": mlp_params()}, data(), **rest)


def mean(comm, tree):
    return comm.mean(tree)


def total(comm, tree):
    return comm.sum(tree)


@construct
def own_sgd():
    return by_hand(mean, mean, gradients=paths(mlp_params()))


@construct
def own_sgd_rate_is_input():
    def run(comm, params, batch, rate):
        loss, grads = jax.value_and_grad(mlp_loss)(params, batch)
        grads = comm.mean(grads)
        return jax.tree.map(lambda p, g: p - rate * g, params, grads), comm.mean(loss)

    return Step(run, {"params": mlp_params()}, data(), gradients=paths(mlp_params()),
                inputs={"rate": jnp.float32(0.1)})


@construct
def own_sum():
    """The loss is a share of the whole, so gradients are summed: no mean."""
    return by_hand(total, total, loss=lambda comm, params, batch: mlp_loss(params, batch) / comm.size,
                   gradients=paths(mlp_params()))


@construct
def own_sum_rate_thousandth():
    """A learning rate that is the reciprocal of a multiple of the ranks."""
    return by_hand(total, total, rate=0.001, gradients=paths(mlp_params()))


@construct
def own_mean_of_product():
    def combine(comm, grads):
        return jax.tree.map(lambda g: comm.sum(0.8 * g) / comm.size, grads)

    return by_hand(combine, mean, gradients=paths(mlp_params()))


def flattened(comm, tree, combine):
    from jax.flatten_util import ravel_pytree
    flat, unravel = ravel_pytree(tree)
    return unravel(combine(comm, flat))


@construct
def flat_bucket():
    """Gradients are averaged as one tensor; those that arrive summed are only divided so."""
    return by_hand(lambda comm, grads: flattened(comm, grads, mean), mean, gradients=paths(mlp_params()), gradients_checked={})


@construct
def flat_bucket_summed():
    return by_hand(lambda comm, grads: flattened(comm, grads, total), total, rate=0.01, gradients=paths(mlp_params()),
                   gradients_checked={})


@construct
def tied_weights():
    """A param with two uses, one of them transposed."""
    def loss(comm, params, batch):
        hidden = jnp.tanh(batch["x"] @ params["table"] + params["bias"])
        return jnp.mean((hidden @ params["table"].T - batch["x"]) ** 2)

    def run(comm, params, batch):
        value, grads = jax.value_and_grad(lambda p: loss(comm, p, batch))(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, comm.mean(grads)), comm.mean(value)

    params = {"table": jax.random.normal(key(5), (WIDTH, CLASSES)), "bias": jnp.zeros((CLASSES,))}
    return Step(run, {"params": params}, {"x": data()["x"]}, gradients=paths(params))


@construct
def token_weighted():
    """psum(g * n) / psum(n)."""
    batch = dict(data(), weight=jnp.array([1.0, 0.0, 1.0, 1.0]))

    def run(comm, params, batch):
        def total(params):
            logits = jax.nn.log_softmax(mlp(params, batch["x"]))
            losses = -jnp.take_along_axis(logits, batch["y"][:, None], axis=-1)[:, 0]
            return jnp.sum(losses * batch["weight"])
        loss, grads = jax.value_and_grad(total)(params)
        count = comm.sum(jnp.sum(batch["weight"]))
        grads = jax.tree.map(lambda g: g / count, comm.sum(grads))
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), comm.sum(loss) / count

    return Step(run, {"params": mlp_params()}, batch, gradients=paths(mlp_params()))


# ---------------------------------------------------------------------------------------------
# State besides params and optimizer
# ---------------------------------------------------------------------------------------------


@construct
def ema():
    optimizer = optax.adam(1e-3)

    def run(comm, params, opt_state, ema, batch):
        loss, grads = jax.value_and_grad(mlp_loss)(params, batch)
        updates, opt_state = optimizer.update(comm.mean(grads), opt_state, params)
        params = optax.apply_updates(params, updates)
        ema = jax.tree.map(lambda e, p: 0.999 * e + 0.001 * p, ema, params)
        return params, opt_state, ema, comm.mean(loss)

    params = mlp_params()
    return Step(run, {"params": params, "opt_state": optimizer.init(params), "ema": mlp_params()}, data(),
                gradients=paths(params))


@construct
def target_network():
    """A network that follows another one, and is used by the loss."""
    def run(comm, params, target, batch):
        def loss_of(params):
            wanted = lax.stop_gradient(mlp(target, batch["x"]))
            return jnp.mean((mlp(params, batch["x"]) - wanted) ** 2) + mlp_loss(params, batch)
        loss, grads = jax.value_and_grad(loss_of)(params)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, comm.mean(grads))
        target = jax.tree.map(lambda t, p: 0.99 * t + 0.01 * p, target, params)
        return params, target, comm.mean(loss)

    return Step(run, {"params": mlp_params(), "target": mlp_params()}, data(),
                gradients=paths(mlp_params(), ("params",)))


@construct
def accumulate_in_a_scan():
    """Four micro-batches in a loop; one mean after it."""
    batch = jax.tree.map(lambda leaf: jnp.stack([leaf] * 4), data())

    def run(comm, params, opt_state, batch):
        def one(carry, micro):
            loss, grads = jax.value_and_grad(mlp_loss)(params, micro)
            return jax.tree.map(jnp.add, carry, (loss, grads)), None
        start = (jnp.float32(0), jax.tree.map(jnp.zeros_like, params))
        (loss, grads), _ = lax.scan(one, comm.varying(start), batch)
        grads = comm.mean(jax.tree.map(lambda g: g / 4, grads))
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, comm.mean(loss / 4)

    optimizer = optax.sgd(0.1, momentum=0.9)
    params = mlp_params()
    return Step(run, {"params": params, "opt_state": optimizer.init(params)}, batch, gradients=paths(params))


@construct
def means_in_a_scan():
    """Four micro-batches in a loop, each with a mean of its own."""
    batch = jax.tree.map(lambda leaf: jnp.stack([leaf] * 4), data())

    def run(comm, params, batch):
        def one(carry, micro):
            loss, grads = jax.value_and_grad(mlp_loss)(params, micro)
            return jax.tree.map(jnp.add, carry, comm.mean((loss, grads))), None
        start = (jnp.float32(0), jax.tree.map(jnp.zeros_like, params))
        (loss, grads), _ = lax.scan(one, start, batch)
        return jax.tree.map(lambda p, g: p - 0.1 * g / 4, params, grads), loss / 4

    return Step(run, {"params": mlp_params()}, batch, gradients=paths(mlp_params()))


@construct
def layers_in_a_scan():
    """Layers of one shape, stacked."""
    def loss_of(params, batch):
        hidden, _ = lax.scan(lambda h, layer: (jnp.tanh(apply_dense(layer, h)), None), batch["x"], params["layers"])
        return cross_entropy(apply_dense(params["last"], hidden), batch["y"])

    def run(comm, params, batch):
        loss, grads = jax.value_and_grad(loss_of)(params, batch)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, comm.mean(grads)), comm.mean(loss)

    layers = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(dense(number, WIDTH, WIDTH) for number in range(3)))
    params = {"layers": layers, "last": dense(7, WIDTH, CLASSES)}
    return Step(run, {"params": params}, data(), gradients=paths(params))


def scaled(skip):
    """Loss scaling; a step whose gradients are not finite is left out."""
    def run(comm, params, opt_state, scale, batch):
        loss, grads = jax.value_and_grad(lambda p: mlp_loss(p, batch) * scale["scale"])(params)
        grads = jax.tree.map(lambda g: g / scale["scale"], comm.mean(grads))
        finite = jnp.all(jnp.array([jnp.all(jnp.isfinite(g)) for g in jax.tree.leaves(grads)]))
        updates, new_state = optimizer.update(grads, opt_state, params)
        new_params = optax.apply_updates(params, updates)
        params, opt_state = skip(finite, (new_params, new_state), (params, opt_state))
        scale = {"scale": jnp.where(finite, scale["scale"], scale["scale"] / 2)}
        return params, opt_state, scale, comm.mean(loss)

    optimizer = optax.sgd(0.1, momentum=0.9)
    params = mlp_params()
    return Step(run, {"params": params, "opt_state": optimizer.init(params), "scale": {"scale": jnp.float32(1024)}},
                data(), gradients=paths(params))


@construct
def loss_scaling_where():
    return dataclasses.replace(
        scaled(lambda finite, new, old: jax.tree.map(lambda a, b: jnp.where(finite, a, b), new, old)),
        refused=BRANCHED)


@construct
def loss_scaling_cond():
    return dataclasses.replace(scaled(lambda finite, new, old: lax.cond(finite, lambda: new, lambda: old)), gradients={},
                               refused=BRANCHED)


def wide_biases(params):
    """What is summed where it is broadcast is summed in the type of the sum, up to JAX 0.10."""
    if jax.__version_info__ >= (0, 11):
        return paths(params)
    return {path: leaf.astype(jnp.float32) if path.endswith("bias") else leaf for path, leaf in paths(params).items()}


@construct
def masters_in_optimizer():
    """bfloat16 params; their float32 masters are the optimizer's."""
    def run(comm, params, opt_state, batch):
        loss, grads = jax.value_and_grad(mlp_loss)(params, batch)
        grads = jax.tree.map(lambda g: g.astype(jnp.float32), comm.mean(grads))
        updates, inner = optimizer.update(grads, opt_state["inner"], opt_state["master"])
        master = optax.apply_updates(opt_state["master"], updates)
        params = jax.tree.map(lambda m: m.astype(jnp.bfloat16), master)
        return params, {"inner": inner, "master": master}, comm.mean(loss)

    optimizer = optax.adam(1e-3)
    master = mlp_params()
    params = jax.tree.map(lambda m: m.astype(jnp.bfloat16), master)
    return Step(run, {"params": params, "opt_state": {"inner": optimizer.init(master), "master": master}}, data(),
                gradients=paths(params), gradients_checked=wide_biases(params), ulps_of_sums=131072)


@construct
def masters_are_params():
    """float32 params, used in bfloat16; gradients travel in bfloat16."""
    def run(comm, params, opt_state, batch):
        half = jax.tree.map(lambda p: p.astype(jnp.bfloat16), params)
        loss, grads = jax.value_and_grad(mlp_loss)(half, batch)
        grads = jax.tree.map(lambda g: g.astype(jnp.float32), comm.mean(grads))
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, comm.mean(loss)

    optimizer = optax.adam(1e-3)
    params = mlp_params()
    return Step(run, {"params": params, "opt_state": optimizer.init(params)}, data(),
                gradients={name: leaf.astype(jnp.bfloat16) for name, leaf in paths(params).items()},
                gradients_checked=wide_biases(jax.tree.map(lambda p: p.astype(jnp.bfloat16), params)), ulps_of_sums=131072)


@construct
def megatron():
    """Gradients in bfloat16 are added up in float32, reduced there, and the masters are a flat vector."""
    from jax.flatten_util import ravel_pytree
    params = jax.tree.map(lambda p: p.astype(jnp.bfloat16), mlp_params())
    flat, unravel = ravel_pytree(params)

    def run(comm, params, opt_state, batch):
        loss, grads = jax.value_and_grad(mlp_loss)(params, batch)
        grad = ravel_pytree(jax.tree.map(lambda g: g.astype(jnp.float32), grads))[0]
        grad = comm.mean(grad)
        m = 0.9 * opt_state["m"] + 0.1 * grad
        v = 0.99 * opt_state["v"] + 0.01 * grad * grad
        main = opt_state["main"] - 1e-3 * m / (jnp.sqrt(v) + 1e-8)
        return unravel(main.astype(jnp.bfloat16)), {"main": main, "m": m, "v": v}, comm.mean(loss)

    main = flat.astype(jnp.float32)
    state = {"main": main, "m": jnp.zeros_like(main), "v": jnp.zeros_like(main)}
    return Step(run, {"params": params, "opt_state": state}, data(), refused=BRANCHED, ulps_of_sums=131072)


@construct
def dropout_with_counter():
    def run(comm, params, counter, batch):
        def loss_of(params):
            hidden = jnp.tanh(apply_dense(params["first"], batch["x"]))
            keep = jax.random.bernoulli(jax.random.fold_in(key(7), counter), 0.9, hidden.shape)
            return cross_entropy(apply_dense(params["second"], jnp.where(keep, hidden / 0.9, 0)), batch["y"])
        loss, grads = jax.value_and_grad(loss_of)(params)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, comm.mean(grads))
        return params, counter + 1, comm.mean(loss)

    return Step(run, {"params": mlp_params(), "counter": jnp.int32(0)}, data(), gradients=paths(mlp_params()))


@construct
def dropout_by_rank():
    """Each rank draws its own mask."""
    def run(comm, params, counter, batch):
        def loss_of(params):
            hidden = jnp.tanh(apply_dense(params["first"], batch["x"]))
            own = jax.random.fold_in(jax.random.fold_in(key(7), counter), comm.index())
            keep = jax.random.bernoulli(own, 0.9, hidden.shape)
            return cross_entropy(apply_dense(params["second"], jnp.where(keep, hidden / 0.9, 0)), batch["y"])
        loss, grads = jax.value_and_grad(loss_of)(params)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, comm.mean(grads))
        return params, counter + 1, comm.mean(loss)

    return Step(run, {"params": mlp_params(), "counter": jnp.int32(0)}, data(), gradients=paths(mlp_params()))


@construct
def key_of_each_rank():
    """Each rank keeps a key of its own, as pmaps do, and draws its masks from it."""
    def run(comm, params, rng, batch):
        now, later = jax.random.split(rng["key"])
        def loss_of(params):
            hidden = jnp.tanh(apply_dense(params["first"], batch["x"]))
            keep = jax.random.bernoulli(now, 0.9, hidden.shape)
            return cross_entropy(apply_dense(params["second"], jnp.where(keep, hidden / 0.9, 0)), batch["y"])
        loss, grads = jax.value_and_grad(loss_of)(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, comm.mean(grads)), {"key": later}, comm.mean(loss)

    return Step(run, {"params": mlp_params(), "rng": {"key": key(7)}}, data(), gradients=paths(mlp_params()))


@construct
def examples_from_keys():
    """Examples are drawn in the step: gradients depend on keys and params alone, which a start with equal keys would
    leave alike."""
    def run(comm, params, rng, batch):
        now, later = jax.random.split(rng["key"])
        drawn = jax.random.normal(now, (BATCH, WIDTH))
        grads = jax.grad(lambda params: jnp.mean(mlp(params, drawn) ** 2))(params)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, comm.mean(grads))
        return params, {"key": later}, comm.mean(jnp.mean(batch["x"]))

    return Step(run, {"params": mlp_params(), "rng": {"key": key(7)}}, data(), forms=("pmap", "stacked", *SHARDED[:2]))


@construct
def noise_on_params():
    """Langevin dynamics: noise after the mean, from a key that ranks need alike."""
    def run(comm, params, rng, batch):
        loss, grads = jax.value_and_grad(mlp_loss)(params, batch)
        now, later = jax.random.split(rng["key"])
        params = jax.tree.map(lambda p, g: p - 0.1 * g + 0.01 * jax.random.normal(now, p.shape), params, comm.mean(grads))
        return params, {"key": later}, comm.mean(loss)

    return Step(run, {"params": mlp_params(), "rng": {"key": key(7)}}, data(), gradients=paths(mlp_params()))


@construct
def mean_of_params():
    """Metrics of params are averaged with the others, and so is the learning rate."""
    step = own_sgd_rate_is_input()

    def run(comm, params, batch, rate):
        following, loss = step.run(comm, params, batch, rate)
        norm = sum(jnp.sum(leaf * leaf) for leaf in jax.tree.leaves(params))
        return following, {"loss": loss, "norm": comm.mean(norm), "rate": comm.mean(rate)}

    return dataclasses.replace(step, run=run)


@construct
def weight_of_each_rank():
    """A number weighs each rank's loss; the sum of the weights is a metric."""
    def run(comm, params, batch, weight):
        loss, grads = jax.value_and_grad(lambda params: weight * mlp_loss(params, batch))(params)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, comm.mean(grads))
        return params, {"loss": comm.mean(loss), "weight": comm.sum(weight)}

    return Step(run, {"params": mlp_params()}, data(), gradients=paths(mlp_params()), inputs={"weight": jnp.float32(0.5)})


def normalized(sync):
    def run(comm, params, model_state, batch):
        def loss_of(params):
            hidden = apply_dense(params["first"], batch["x"])
            mean, square = hidden.mean(0), (hidden * hidden).mean(0)
            if sync:
                mean, square = comm.mean((mean, square))
            variance = square - mean * mean
            hidden = params["scale"] * (hidden - mean) * lax.rsqrt(variance + 1e-5)
            return cross_entropy(apply_dense(params["second"], jnp.tanh(hidden)), batch["y"]), (mean, variance)
        (loss, (mean, variance)), grads = jax.value_and_grad(loss_of, has_aux=True)(params)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, comm.mean(grads))
        if not sync:
            mean, variance = comm.mean((mean, variance))
        state = {"mean": 0.9 * model_state["mean"] + 0.1 * mean, "var": 0.9 * model_state["var"] + 0.1 * variance}
        return params, state, comm.mean(loss)

    # The gradient of a bias before a normalisation is rounding alone, which shows in a bias of 0.
    params = dict(mlp_params(), scale=jnp.ones(HIDDEN))
    params["first"]["bias"] += 0.5
    state = {"mean": jnp.zeros(HIDDEN), "var": jnp.ones(HIDDEN)}
    return Step(run, {"params": params, "model_state": state}, data(), gradients=paths(params))


@construct
def batch_norm():
    return normalized(sync=False)


@construct
def batch_norm_synchronised():
    return normalized(sync=True)


# ---------------------------------------------------------------------------------------------
# Several losses
# ---------------------------------------------------------------------------------------------


@construct
def gan():
    """The generator's gradient uses the discriminator that was just updated."""
    def run(comm, generator, discriminator, batch):
        fake = lambda g: apply_dense(g, batch["z"])
        score = lambda d, x: jnp.mean(apply_dense(d, x))
        d_loss, d_grads = jax.value_and_grad(
            lambda d: score(d, fake(generator)) - score(d, batch["x"]) + jnp.mean(apply_dense(d, batch["x"]) ** 2)
        )(discriminator)
        discriminator = jax.tree.map(lambda p, g: p - 0.1 * g, discriminator, comm.mean(d_grads))
        g_loss, g_grads = jax.value_and_grad(lambda g: -score(discriminator, fake(g)))(generator)
        generator = jax.tree.map(lambda p, g: p - 0.1 * g, generator, comm.mean(g_grads))
        return generator, discriminator, comm.mean(d_loss + g_loss)

    generator, discriminator = dense(1, CLASSES, WIDTH), dense(2, WIDTH, 1)
    batch = {"x": jax.random.normal(key(3), (BATCH, WIDTH)), "z": jax.random.normal(key(4), (BATCH, CLASSES))}
    first, second = paths(generator, ("generator",)), paths(discriminator, ("discriminator",))
    # The generator's bias gets the discriminator's weights, which are alike on all ranks: no reduction is left.
    reduced = {path: leaf for path, leaf in {**first, **second}.items() if path != "generator.bias"}
    return Step(run, {"generator": generator, "discriminator": discriminator}, batch, gradients=reduced, ulps=8)


@construct
def two_losses():
    """Two gradients of one param, each averaged, one update."""
    def run(comm, params, batch):
        loss, first = jax.value_and_grad(mlp_loss)(params, batch)
        second = jax.grad(lambda p: jnp.mean(mlp(p, batch["x"]) ** 2))(params)
        first, second = comm.mean(first), comm.mean(second)
        params = jax.tree.map(lambda p, a, b: p - 0.1 * (a + 0.01 * b), params, first, second)
        return params, comm.mean(loss)

    return Step(run, {"params": mlp_params()}, data(), gradients_alone=paths(mlp_params()))


# ---------------------------------------------------------------------------------------------
# Trees, arguments, results
# ---------------------------------------------------------------------------------------------


def in_tree(pack, unpack):
    params = pack(mlp_params())
    return trained(optax.adam(1e-3), params, lambda p, b: mlp_loss(unpack(p), b))


@construct
def params_in_list():
    return in_tree(lambda p: [p["first"], p["second"]], lambda p: {"first": p[0], "second": p[1]})


@construct
def params_in_tuple():
    return in_tree(lambda p: (p["first"], (p["second"]["kernel"], p["second"]["bias"])),
                   lambda p: {"first": p[0], "second": {"kernel": p[1][0], "bias": p[1][1]}})


@construct
def params_nested():
    return in_tree(lambda p: {"net": {"layers": [p["first"], {"deep": p["second"]}]}},
                   lambda p: {"first": p["net"]["layers"][0], "second": p["net"]["layers"][1]["deep"]})


@construct
def params_flat():
    from jax.flatten_util import ravel_pytree
    flat, unravel = ravel_pytree(mlp_params())
    return dataclasses.replace(trained(optax.adam(1e-3), flat, lambda p, b: mlp_loss(unravel(p), b)),
                               gradients_checked={})


@construct
def flax_linen():
    import flax.linen as nn

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(CLASSES)(nn.tanh(nn.Dense(HIDDEN)(x)))

    params = Net().init(key(), jnp.zeros((BATCH, WIDTH)))["params"]
    return trained(optax.adam(1e-3), params,
                   lambda p, b: cross_entropy(Net().apply({"params": p}, b["x"]), b["y"]))


def nnx_net():
    from flax import nnx

    class Net(nnx.Module):
        def __init__(self, rngs):
            self.first = nnx.Linear(WIDTH, HIDDEN, rngs=rngs)
            self.second = nnx.Linear(HIDDEN, CLASSES, rngs=rngs)

        def __call__(self, x):
            return self.second(jnp.tanh(self.first(x)))

    return Net(nnx.Rngs(0))


def nnx_gradients(net, prefix=""):
    return {f"{prefix}{layer}.{name}": getattr(getattr(net, layer), name).value
            for layer in ("first", "second") for name in ("kernel", "bias")}


@construct
def flax_nnx():
    from flax import nnx
    definition, params = nnx.split(nnx_net())
    step = trained(optax.adam(1e-3), params,
                   lambda p, b: cross_entropy(nnx.merge(definition, p)(b["x"]), b["y"]))
    step.gradients = nnx_gradients(params)
    return step


@construct
def not_donated():
    """Newer pmaps name no arguments, so that only places tell state from input."""
    return dataclasses.replace(trained(optax.adam(1e-3)), donated=False)


@construct
def batch_first():
    return dataclasses.replace(trained(optax.sgd(0.1, momentum=0.9)), arguments=("batch", "opt_state", "params"))


@construct
def loss_first():
    return dataclasses.replace(trained(optax.adam(1e-3)), results=("loss", "opt_state", "params"))


@construct
def unused_param():
    params = dict(mlp_params(), unused=dense(5, WIDTH, WIDTH))
    return dataclasses.replace(trained(optax.sgd(0.1), params), gradients=paths(mlp_params()))


@construct
def frozen_params():
    """Params that the step returns as they are."""
    def run(comm, params, frozen, batch):
        loss, grads = jax.value_and_grad(lambda p: mlp_loss({"first": frozen, "second": p}, batch))(params)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, comm.mean(grads))
        return params, frozen, comm.mean(loss)

    tree = mlp_params()
    return Step(run, {"params": tree["second"], "frozen": tree["first"]}, data(),
                gradients=paths(tree["second"], ("params",)))


@construct
def frozen_input():
    """Params that the step only reads."""
    def run(comm, params, batch, frozen):
        loss, grads = jax.value_and_grad(lambda p: mlp_loss({"first": frozen, "second": p}, batch))(params)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, comm.mean(grads))
        return params, comm.mean(loss)

    tree = mlp_params()
    return Step(run, {"params": tree["second"]}, data(), gradients=paths(tree["second"]),
                inputs={"frozen": tree["first"]})


@construct
def several_metrics():
    step = trained(optax.adam(1e-3))

    def run(comm, params, opt_state, batch):
        params_next, opt_state, loss = step.run(comm, params, opt_state, batch)
        logits = mlp(params, batch["x"])
        accuracy = comm.mean(jnp.mean((logits.argmax(-1) == batch["y"]).astype(jnp.float32)))
        return params_next, opt_state, {"loss": loss, "accuracy": accuracy, "largest": comm.largest(jnp.max(logits))}

    return dataclasses.replace(step, run=run)
