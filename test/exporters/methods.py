# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constructs of constructs.py: methods of training, parallelism, and libraries that write steps in their own way."""
import dataclasses
import os

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jax.sharding import PartitionSpec as P

from constructs import (BATCH, BRANCHED, CLASSES, CONSTRUCTS, HIDDEN, SHARDED, WIDTH, Step, apply_dense, construct, cross_entropy,
                        data, dense, key, mlp, mlp_loss, mlp_params, nnx_gradients, nnx_net, paths, trained)

MAPPED = ("pmap", "stacked", *SHARDED[:2])

# ---------------------------------------------------------------------------------------------
# Optimizers of optax that do more than one update of all params
# ---------------------------------------------------------------------------------------------

WRAPPED = {
    "multi_transform": lambda: optax.multi_transform({"slow": optax.sgd(0.01), "fast": optax.adam(1e-3)},
                                                     {"first": "slow", "second": "fast"}),
    "masked": lambda: optax.chain(optax.masked(optax.add_decayed_weights(0.1), lambda params: jax.tree.map(
        lambda leaf: leaf.ndim > 1, params)), optax.sgd(0.1, momentum=0.9)),
    "apply_every": lambda: optax.chain(optax.apply_every(4), optax.sgd(0.1)),
    "schedule_free": lambda: optax.contrib.schedule_free_sgd(0.1),
    "prodigy": lambda: optax.contrib.prodigy(1.0),
}
for _name, _make in WRAPPED.items():
    CONSTRUCTS[_name] = lambda name=_name, make=_make: dataclasses.replace(
        trained(make()), refused=BRANCHED if name == "prodigy" else {})


@construct
def lookahead():
    """Slow params follow fast ones every few steps (Zhang et al., 2019)."""
    optimizer = optax.lookahead(optax.sgd(0.1), sync_period=3, slow_step_size=0.5)
    params = optax.LookaheadParams.init_synced(mlp_params())

    def run(comm, params, opt_state, batch):
        loss, grads = jax.value_and_grad(mlp_loss)(params.fast, batch)
        updates, opt_state = optimizer.update(comm.mean(grads), opt_state, params)
        return optax.apply_updates(params, updates), opt_state, comm.mean(loss)

    # By name both trees are params, and each gradient reaches both.
    return Step(run, {"params": params, "opt_state": optimizer.init(params)}, data(), gradients=paths(mlp_params(), ("fast",)),
                gradients_named={}, refused={"single": "its gradient is also that of 'fast.first.bias'"})


@construct
def sharpness_aware():
    """Two gradients a step: the second is taken where the first leads uphill (SAM, Foret et al., 2021)."""
    def run(comm, params, batch):
        grads = comm.mean(jax.grad(mlp_loss)(params, batch))
        norm = jnp.sqrt(sum(jnp.sum(leaf * leaf) for leaf in jax.tree.leaves(grads)))
        uphill = jax.tree.map(lambda p, g: p + 0.05 * g / norm, params, grads)
        loss, grads = jax.value_and_grad(mlp_loss)(uphill, batch)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, comm.mean(grads)), comm.mean(loss)

    return Step(run, {"params": mlp_params()}, data(), gradients=paths(mlp_params()))


@construct
def quantized_moments():
    """The momentum is kept in 8 bits with a scale for each tensor."""
    def run(comm, params, moments, batch):
        loss, grads = jax.value_and_grad(mlp_loss)(params, batch)
        momentum = jax.tree.map(lambda m, g: 0.9 * m["bits"].astype(jnp.float32) * m["scale"] + g, moments, comm.mean(grads),
                                is_leaf=lambda node: isinstance(node, dict) and "bits" in node)
        params = jax.tree.map(lambda p, m: p - 0.1 * m, params, momentum)
        def pack(leaf):
            scale = jnp.maximum(jnp.max(jnp.abs(leaf)), 1e-8) / 127
            return {"bits": jnp.round(leaf / scale).astype(jnp.int8), "scale": scale}
        return params, jax.tree.map(pack, momentum), comm.mean(loss)

    moments = jax.tree.map(lambda leaf: {"bits": jnp.zeros(leaf.shape, jnp.int8), "scale": jnp.float32(1)}, mlp_params())
    return Step(run, {"params": mlp_params(), "moments": moments}, data(), gradients=paths(mlp_params()), refused=BRANCHED)


# ---------------------------------------------------------------------------------------------
# Methods
# ---------------------------------------------------------------------------------------------


@construct
def private():
    """Gradients of single examples are clipped, and noise that ranks have alike is added to their mean (DP-SGD, Abadi et
    al., 2016)."""
    def run(comm, params, rng, batch):
        now, later = jax.random.split(rng["key"])
        each = jax.vmap(jax.grad(lambda p, x, y: mlp_loss(p, {"x": x[None], "y": y[None]})), (None, 0, 0))(
            params, batch["x"], batch["y"])
        norms = jnp.sqrt(sum(jnp.sum(leaf.reshape(leaf.shape[0], -1) ** 2, 1) for leaf in jax.tree.leaves(each)))
        factor = jnp.minimum(1, 1 / norms)
        grads = jax.tree.map(lambda leaf: jnp.tensordot(factor, leaf, 1) / leaf.shape[0], each)
        noisy = jax.tree.map(lambda g: g + 0.01 * jax.random.normal(now, g.shape), comm.mean(grads))
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, noisy), {"key": later}, comm.mean(mlp_loss(params, batch))

    # Where values say over which axes they vary, the gradient of each example arrives summed over ranks.
    return Step(run, {"params": mlp_params(), "rng": {"key": key(7)}}, data(), gradients=paths(mlp_params()),
                gradients_checked={})


@construct
def bootstrap():
    """A target network is an average of the online one, and both see the batch (BYOL, Grill et al., 2020)."""
    def unit(x):
        return x / jnp.sqrt(jnp.sum(x * x, -1, keepdims=True) + 1e-6)

    def run(comm, params, opt_state, target, batch):
        def loss_of(params):
            online, wanted = unit(mlp(params, batch["x"])), unit(mlp(target, batch["x"] + 0.1))
            return jnp.mean(jnp.sum((online - lax.stop_gradient(wanted)) ** 2, -1))
        loss, grads = jax.value_and_grad(loss_of)(params)
        updates, opt_state = optimizer.update(comm.mean(grads), opt_state, params)
        params = optax.apply_updates(params, updates)
        target = jax.tree.map(lambda t, p: 0.99 * t + 0.01 * p, target, params)
        return params, opt_state, target, comm.mean(loss)

    optimizer = optax.adam(1e-3)
    target = {"first": dense(5, WIDTH, HIDDEN), "second": dense(6, HIDDEN, CLASSES)}
    return Step(run, {"params": mlp_params(), "opt_state": optimizer.init(mlp_params()), "target": target}, {"x": data()["x"]},
                gradients=paths(mlp_params(), ("params",)))


@construct
def contrastive():
    """Each rank's examples are told from those of all ranks, which are gathered (CLIP, SimCLR)."""
    def run(comm, params, batch):
        def loss_of(params):
            own = mlp(params, batch["x"])
            every = comm.gather(own) if comm.axes else own
            labels = jnp.arange(BATCH) + BATCH * comm.index()
            return cross_entropy(own @ every.T, labels)
        loss, grads = jax.value_and_grad(loss_of)(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, comm.mean(grads)), comm.mean(loss)

    return Step(run, {"params": mlp_params()}, {"x": data()["x"]}, gradients=paths(mlp_params()),
                forms=("single", *MAPPED))


@construct
def policy_gradient():
    """Several epochs over minibatches of one rollout, each with a mean and an update (PPO, Schulman et al., 2017)."""
    def run(comm, params, batch):
        old = jax.nn.log_softmax(mlp(params, batch["x"]))
        def loss_of(params, part):
            new = jax.nn.log_softmax(mlp(params, part["x"]))
            pick = lambda table: jnp.take_along_axis(table, part["y"][:, None], -1)[:, 0]
            ratio = jnp.exp(pick(new) - pick(part["old"]))
            return -jnp.mean(jnp.minimum(ratio * part["gain"], jnp.clip(ratio, 0.8, 1.2) * part["gain"]))
        parts = jax.tree.map(lambda leaf: leaf.reshape(2, BATCH // 2, *leaf.shape[1:]), {**batch, "old": old})
        def minibatch(params, part):
            loss, grads = jax.value_and_grad(loss_of)(params, part)
            return jax.tree.map(lambda p, g: p - 0.1 * g, params, comm.mean(grads)), loss
        def epoch(params, _):
            return lax.scan(minibatch, params, parts)
        params, losses = lax.scan(epoch, params, None, length=3)
        return params, comm.mean(losses.mean())

    batch = dict(data(), gain=jax.random.normal(key(8), (BATCH,)))
    return Step(run, {"params": mlp_params()}, batch, forms=("single", *MAPPED), refused=BRANCHED)


@construct
def local_steps():
    """Ranks train by themselves for four steps; the mean of how far they got is an outer optimizer's gradient (DiLoCo,
    Douillard et al., 2023)."""
    batch = jax.tree.map(lambda leaf: jnp.stack([leaf] * 4), data())

    def run(comm, params, outer, batch):
        def inner(local, part):
            loss, grads = jax.value_and_grad(mlp_loss)(local, part)
            return jax.tree.map(lambda p, g: p - 0.1 * g, local, grads), loss
        local, losses = lax.scan(inner, params, batch)
        grads = comm.mean(jax.tree.map(lambda p, l: p - l, params, local))
        updates, outer = optimizer.update(grads, outer, params)
        return optax.apply_updates(params, updates), outer, comm.mean(losses.mean())

    optimizer = optax.sgd(0.7, momentum=0.9, nesterov=True)
    return Step(run, {"params": mlp_params(), "outer": optimizer.init(mlp_params())}, batch, gradients=paths(mlp_params()),
                forms=("single", *MAPPED))


@construct
def several_steps():
    """Three steps of training in one jit."""
    batch = jax.tree.map(lambda leaf: jnp.stack([leaf] * 3), data())

    def run(comm, params, opt_state, batch):
        def one(carry, part):
            params, opt_state = carry
            loss, grads = jax.value_and_grad(mlp_loss)(params, part)
            updates, opt_state = optimizer.update(comm.mean(grads), opt_state, params)
            return (optax.apply_updates(params, updates), opt_state), loss
        (params, opt_state), losses = lax.scan(one, (params, opt_state), batch)
        return params, opt_state, comm.mean(losses.mean())

    optimizer = optax.sgd(0.1, momentum=0.9)
    # Without names the momentum, which the last mean reaches first, is the param.
    return Step(run, {"params": mlp_params(), "opt_state": optimizer.init(mlp_params())}, batch,
                gradients=paths(mlp_params(), ("0", "trace")), gradients_named={}, forms=("single", *MAPPED), refused=BRANCHED)


# ---------------------------------------------------------------------------------------------
# Parallelism
# ---------------------------------------------------------------------------------------------

LAYERS = 3


def layer_params():
    return {"layers": {"kernel": jnp.stack([dense(number, WIDTH, WIDTH)["kernel"] for number in range(LAYERS)])},
            "last": dense(7, WIDTH, CLASSES)}


def scanned_loss(layer_of, last_of):
    """Layers of one shape, computed again in backward; `layer_of` and `last_of` make whole params of what is kept."""
    def loss_of(params, batch):
        layer = jax.checkpoint(lambda hidden, kernel: (jnp.tanh(hidden @ layer_of(kernel)), None))
        hidden, _ = lax.scan(layer, batch["x"], params["layers"]["kernel"])
        return cross_entropy(apply_dense(last_of(params["last"]), hidden), batch["y"])
    return loss_of


@construct
def layers_with_remat():
    def run(comm, params, batch):
        loss, grads = jax.value_and_grad(scanned_loss(lambda whole: whole, lambda whole: whole))(params, batch)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, comm.mean(grads)), comm.mean(loss)

    return Step(run, {"params": layer_params()}, data(), gradients=paths(layer_params()))


@construct
def zero_two():
    """Gradients arrive in parts, and so do moments; whole params are gathered after the update (ZeRO-2)."""
    def run(comm, params, opt_state, batch):
        loss, grads = jax.value_and_grad(mlp_loss)(params, batch)
        def update(param, moment, grad):
            size = moment.size
            part = comm.scatter(grad.reshape(-1)) / comm.size
            moment = 0.9 * moment + part
            own = lax.dynamic_slice(param.reshape(-1), (comm.index() * size,), (size,))
            return comm.gather(own - 0.1 * moment).reshape(param.shape), moment
        both = jax.tree.map(update, params, opt_state, grads)
        pick = lambda index: jax.tree.map(lambda pair: pair[index], both, is_leaf=lambda node: isinstance(node, tuple))
        return pick(0), pick(1), comm.mean(loss)

    opt_state = jax.tree.map(lambda leaf: jnp.zeros(leaf.size), mlp_params())
    return Step(run, {"params": mlp_params(), "opt_state": opt_state}, data(), forms=SHARDED[:2],
                specs={"opt_state": P("data")})


@construct
def zero_three_in_a_scan():
    """Each layer's params are gathered in its turn, and its gradients scattered (ZeRO-3)."""
    def run(comm, params, batch):
        last = lambda layer: {"kernel": comm.gather(layer["kernel"]), "bias": layer["bias"]}
        loss, grads = jax.value_and_grad(scanned_loss(comm.gather, last))(params, batch)
        grads["last"]["bias"] = comm.sum(grads["last"]["bias"])
        return jax.tree.map(lambda p, g: p - 0.1 * g / comm.size, params, grads), comm.mean(loss)

    specs = {"params": {"layers": {"kernel": P(None, "data")}, "last": {"kernel": P("data"), "bias": P()}}}
    return Step(run, {"params": layer_params()}, data(), forms=SHARDED[:2], specs=specs, gradients=None)


@construct
def sequence_parallel():
    """Activations lie in parts along the sequence around what tensor parallelism cuts: a gather before the first matrix, a
    scatter after the second (Korthikanti et al., 2022)."""
    sequence = 4

    def run(comm, params, batch):
        model = comm.over("model")
        def loss_of(params):
            own = lax.dynamic_slice_in_dim(batch["x"], model.index() * (sequence // model.size), sequence // model.size, 1)
            hidden = jnp.tanh(model.gather(own, 1) @ params["up"])
            out = lax.psum_scatter(hidden @ params["down"], model.axes, scatter_dimension=1, tiled=True)
            return jnp.mean((own + out) ** 2)
        loss, grads = jax.value_and_grad(loss_of)(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, comm.over("data").mean(grads)), comm.mean(loss)

    params = {"up": dense(1, WIDTH, HIDDEN)["kernel"], "down": dense(2, HIDDEN, WIDTH)["kernel"]}
    cut = {"up": params["up"][:, :HIDDEN // 2], "down": params["down"][:HIDDEN // 2]}
    return Step(run, {"params": params}, {"x": jax.random.normal(key(3), (BATCH, sequence, WIDTH))}, forms=SHARDED[:2],
                mesh={"data": 2, "model": 2}, gradients=paths(cut),
                specs={"params": {"up": P(None, "model"), "down": P("model")}})


@construct
def ring_attention():
    """Keys and values travel around while each rank attends to them block by block (Liu et al., 2023)."""
    def run(comm, params, batch):
        def loss_of(params):
            q, k, v = (batch["x"] @ params[name] for name in ("q", "k", "v"))
            def turn(carry, _):
                k, v, top, weight, out = carry
                scores = q @ k.T
                largest = jnp.maximum(top, scores.max(-1))
                old, new = jnp.exp(top - largest), jnp.exp(scores - largest[:, None])
                weight, out = weight * old + new.sum(-1), out * old[:, None] + new @ v
                return (comm.shift(k), comm.shift(v), largest, weight, out), None
            start = (k, v, jnp.full(BATCH, -1e9), jnp.zeros(BATCH), jnp.zeros((BATCH, WIDTH)))
            (_, _, _, weight, out), _ = lax.scan(turn, start, None, length=comm.size)
            return cross_entropy(apply_dense(params["last"], out / weight[:, None]), batch["y"])
        loss, grads = jax.value_and_grad(loss_of)(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, comm.mean(grads)), comm.mean(loss)

    params = {**{name: dense(number, WIDTH, WIDTH)["kernel"] for number, name in enumerate("qkv")}, "last": dense(7, WIDTH, CLASSES)}
    return Step(run, {"params": params}, data(), gradients=paths(params), forms=MAPPED)


@construct
def pipeline_in_a_scan():
    """Micro-batches flow through stages on the ranks, one shift a turn (GPipe, Huang et al., 2019)."""
    micro = 3

    def run(comm, params, batch):
        stage, count = comm.over("stage"), 2
        def loss_of(params):
            kernel = params["layer"][0]
            def turn(carried, turn):
                received = jnp.where(stage.index() == 0, batch["x"][jnp.minimum(turn, micro - 1)], carried)
                out = jnp.tanh(received @ kernel)
                return stage.shift(out), out
            _, outs = lax.scan(turn, jnp.zeros_like(batch["x"][0]), jnp.arange(micro + count - 1))
            loss = jnp.mean((outs[count - 1:] - batch["t"][:micro]) ** 2)
            return jnp.where(stage.index() == count - 1, loss, 0.0)
        loss, grads = jax.value_and_grad(loss_of)(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, comm.over("data").mean(grads)), comm.mean(loss)

    layers = jnp.stack([dense(n, WIDTH, WIDTH)["kernel"] for n in (1, 2)])
    batch = {name: jax.random.normal(key(n), (micro, BATCH, WIDTH)) for n, name in enumerate("xt")}
    return Step(run, {"params": {"layer": layers}}, batch, forms=SHARDED[:2], mesh={"data": 2, "stage": 2},
                gradients=paths({"layer": layers[:1]}), specs={"params": {"layer": P("stage")}, "batch": P(None, "data")})


# ---------------------------------------------------------------------------------------------
# Libraries
# ---------------------------------------------------------------------------------------------


@construct
def nnx_optimizer():
    """A model and its optimizer are one graph of objects."""
    from flax import nnx
    model = nnx_net()
    definition, state = nnx.split(nnx.ModelAndOptimizer(model, optax.adam(1e-3), wrt=nnx.Param))

    def run(comm, state, batch):
        optimizer = nnx.merge(definition, state)
        loss, grads = nnx.value_and_grad(lambda model: cross_entropy(model(batch["x"]), batch["y"]))(optimizer.model)
        optimizer.update(comm.mean(grads))
        return nnx.split(optimizer)[1], comm.mean(loss)

    return Step(run, {"state": state}, data(), gradients=nnx_gradients(model, "model."))


@construct
def equinox():
    """A module is a tree with functions in it; what is an array is trained."""
    import equinox as eqx
    model = eqx.nn.MLP(WIDTH, CLASSES, HIDDEN, 1, key=key(1))
    params, static = eqx.partition(model, eqx.is_array)
    step = trained(optax.adam(1e-3), params,
                   lambda p, b: cross_entropy(jax.vmap(eqx.combine(p, static))(b["x"]), b["y"]))
    return dataclasses.replace(step, gradients=paths(params))


@construct
def haiku():
    import haiku as hk
    net = hk.without_apply_rng(hk.transform(lambda x: hk.nets.MLP([HIDDEN, CLASSES], activation=jnp.tanh)(x)))
    params = net.init(key(), jnp.zeros((BATCH, WIDTH)))
    return trained(optax.adam(1e-3), params, lambda p, b: cross_entropy(net.apply(p, b["x"]), b["y"]))


@construct
def keras():
    """A model without state of its own, and an optimizer of Keras."""
    os.environ["KERAS_BACKEND"] = "jax"
    import keras as k
    model = k.Sequential([k.layers.Input((WIDTH,)), k.layers.Dense(HIDDEN, "tanh"), k.layers.Dense(CLASSES)])
    optimizer = k.optimizers.Adam(1e-3)
    optimizer.build(model.trainable_variables)
    params = [variable.value for variable in model.trainable_variables]

    def run(comm, params, opt_state, batch):
        loss, grads = jax.value_and_grad(
            lambda p: cross_entropy(model.stateless_call(p, [], batch["x"])[0], batch["y"]))(params)
        params, opt_state = optimizer.stateless_apply(opt_state, comm.mean(grads), params)
        return params, opt_state, comm.mean(loss)

    return Step(run, {"params": params, "opt_state": [variable.value for variable in optimizer.variables]}, data(),
                gradients=paths(params))
