# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constructs of constructs.py that need a mesh: of several axes, or with parts of states on its ranks."""
import dataclasses

import jax
import jax.numpy as jnp
import optax
from constructs import (BATCH, CLASSES, HIDDEN, SHARDED, WIDTH, Step, apply_dense, construct, cross_entropy, data, dense, mlp_loss,
                        mlp_params, paths, trained)
from jax import lax


@construct
def means_in_a_chain():
    """The mean over one axis, then over the other."""
    def run(comm, params, batch):
        loss, grads = jax.value_and_grad(mlp_loss)(params, batch)
        for axis in ("gpu", "node"):
            grads = comm.over(axis).mean(grads)
            loss = comm.over(axis).mean(loss)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss

    return Step(run, {"params": mlp_params()}, data(), gradients=paths(mlp_params()), forms=SHARDED[:2],
                mesh={"node": 2, "gpu": 2})


@construct
def mesh_of_three_axes():
    step = trained(optax.sgd(0.1, momentum=0.9))
    return dataclasses.replace(step, forms=SHARDED, mesh={"rack": 2, "node": 2, "gpu": 2})


@construct
def tensor_parallel():
    """Megatron's two halves of a layer: the first cut by columns, the second by rows."""
    from jax.sharding import PartitionSpec as P

    def run(comm, params, batch):
        def loss_of(params):
            hidden = jnp.tanh(batch["x"] @ params["columns"])
            logits = comm.over("model").sum(hidden @ params["rows"]) + params["bias"]
            return cross_entropy(logits, batch["y"])
        loss, grads = jax.value_and_grad(loss_of)(params)
        grads = comm.over("data").mean(grads)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), comm.over("data").mean(loss)

    params = {"columns": dense(1, WIDTH, HIDDEN)["kernel"], "rows": dense(2, HIDDEN, CLASSES)["kernel"],
              "bias": jnp.zeros(CLASSES)}
    local = {"columns": params["columns"][:, :HIDDEN // 2], "rows": params["rows"][:HIDDEN // 2],
             "bias": params["bias"]}
    return Step(run, {"params": params}, data(), gradients=paths(local), forms=SHARDED[:2],
                mesh={"data": 2, "model": 2},
                specs={"params": {"columns": P(None, "model"), "rows": P("model"), "bias": P()}})


@construct
def mixture_of_experts():
    """Experts on the ranks of an axis; tokens travel to them and back."""
    from jax.sharding import PartitionSpec as P

    def run(comm, params, batch):
        def loss_of(params):
            tokens = batch["x"].reshape(2, BATCH // 2, WIDTH)
            tokens = comm.over("expert").all_to_all(tokens, 0, 1)
            hidden = jnp.tanh(jnp.einsum("etw,ewh->eth", tokens, params["expert"]))
            hidden = comm.over("expert").all_to_all(hidden, 1, 0).reshape(BATCH, HIDDEN)
            return cross_entropy(hidden @ params["out"], batch["y"])
        loss, grads = jax.value_and_grad(loss_of)(params)
        grads = {"expert": comm.over("data").sum(grads["expert"]) / 4, "out": comm.mean(grads["out"])}
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), comm.mean(loss)

    expert = jnp.stack([dense(n, WIDTH, HIDDEN)["kernel"] for n in (1, 2)])
    params = {"expert": expert, "out": dense(3, HIDDEN, CLASSES)["kernel"]}
    local = {"expert": expert[:1], "out": params["out"]}
    return Step(run, {"params": params}, data(), gradients=paths(local), forms=SHARDED[:2],
                mesh={"data": 2, "expert": 2}, specs={"params": {"expert": P("expert"), "out": P()}})


@construct
def forgotten_axis():
    """Gradients are averaged over one of two axes: params then differ over the other."""
    def run(comm, params, batch):
        loss, grads = jax.value_and_grad(mlp_loss)(params, batch)
        grads = comm.over("gpu").mean(grads)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), comm.mean(loss)

    return Step(run, {"params": mlp_params()}, data(), gradients=paths(mlp_params()), forms=SHARDED[:2],
                mesh={"node": 2, "gpu": 2})


@construct
def zero():
    """Gradients are scattered, each rank updates its part of flat params, and all gather them."""
    from jax.flatten_util import ravel_pytree
    from jax.sharding import PartitionSpec as P
    flat, unravel = ravel_pytree(mlp_params())

    def run(comm, params, opt_state, batch):
        whole = comm.gather(params)
        loss, grad = jax.value_and_grad(lambda p: mlp_loss(unravel(p), batch))(whole)
        grad = comm.scatter(grad) / comm.size
        momentum = 0.9 * opt_state + grad
        return params - 0.1 * momentum, momentum, comm.mean(loss)

    return Step(run, {"params": flat, "opt_state": jnp.zeros_like(flat)}, data(), forms=SHARDED[:2],
                specs={"params": P("data"), "opt_state": P("data")})


@construct
def zero_one():
    """Params are whole, an optimizer's state is in parts: each rank updates its own by its place."""
    from jax.flatten_util import ravel_pytree
    from jax.sharding import PartitionSpec as P
    flat, unravel = ravel_pytree(mlp_params())

    def run(comm, params, opt_state, batch):
        loss, grad = jax.value_and_grad(lambda p: mlp_loss(unravel(p), batch))(params)
        momentum = 0.9 * opt_state + comm.scatter(grad) / comm.size
        own = lax.dynamic_slice(params, (comm.index() * opt_state.size,), opt_state.shape)
        return comm.gather(own - 0.1 * momentum), momentum, comm.mean(loss)

    return Step(run, {"params": flat, "opt_state": jnp.zeros_like(flat)}, data(), forms=SHARDED[:2],
                specs={"opt_state": P("data")})


@construct
def mirrored_parts():
    """Of a whole sum the first rank takes the last part, and so on."""
    from jax.flatten_util import ravel_pytree
    flat, unravel = ravel_pytree(mlp_params())

    def run(comm, params, batch):
        params = params["flat"]
        loss, grad = jax.value_and_grad(lambda p: mlp_loss(unravel(p), batch))(params)
        size = params.size // comm.size
        part = lambda whole: lax.dynamic_slice(whole, ((comm.size - 1 - comm.index()) * size,), (size,))
        updated = part(params) - 0.1 * part(comm.sum(grad)) / comm.size
        return {"flat": comm.gather(updated).reshape(comm.size, size)[::-1].reshape(-1)}, comm.mean(loss)

    return Step(run, {"params": {"flat": flat}}, data(), forms=SHARDED[:2])


@construct
def fully_sharded():
    """Each param is in parts along a dimension of its own, gathered where it is used; gradients come in parts."""
    from jax.sharding import PartitionSpec as P

    def run(comm, params, batch):
        def loss_of(params):
            hidden = jnp.tanh(batch["x"] @ comm.gather(params["rows"]))
            return cross_entropy(hidden @ comm.gather(params["columns"], 1), batch["y"])
        loss, grads = jax.value_and_grad(loss_of)(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g / comm.size, params, grads), comm.mean(loss)

    params = {"rows": dense(1, WIDTH, HIDDEN)["kernel"], "columns": dense(2, HIDDEN, CLASSES)["kernel"]}
    return Step(run, {"params": params}, data(), forms=SHARDED[:2],
                specs={"params": {"rows": P("data"), "columns": P(None, "data")}})


@construct
def ring():
    """A sum by hand: what others have travels around."""
    def run(comm, params, batch):
        loss, grads = jax.value_and_grad(mlp_loss)(params, batch)
        def summed(leaf):
            total = leaf
            for _ in range(comm.size - 1):
                leaf = comm.shift(leaf)
                total = total + leaf
            return total / comm.size
        return jax.tree.map(lambda p, g: p - 0.1 * summed(g), params, grads), comm.mean(loss)

    return Step(run, {"params": mlp_params()}, data(), forms=("pmap", "stacked", *SHARDED[:2]))


@construct
def ragged_exchange():
    """Ranks exchange examples between two layers by a custom call, whose pieces may have any size; it has a transpose."""
    exchange = lax.ragged_all_to_all  # of newer versions

    def run(comm, params, batch):
        rows = batch["x"].shape[0] // comm.size
        sizes, starts = jnp.full(comm.size, rows, jnp.int32), rows * jnp.arange(comm.size, dtype=jnp.int32)
        places = jnp.full(comm.size, rows * comm.index(), jnp.int32)

        def loss_of(params):
            hidden = jnp.tanh(apply_dense(params["first"], batch["x"]))
            got = exchange(hidden, jnp.zeros_like(hidden), starts, sizes, places, sizes, axis_name=comm.axes)
            return cross_entropy(apply_dense(params["second"], got), batch["y"])
        loss, grads = jax.value_and_grad(loss_of)(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, comm.mean(grads)), comm.mean(loss)

    return Step(run, {"params": mlp_params()}, data(), gradients=paths(mlp_params()), forms=("pmap", "stacked", *SHARDED[:2]))


@construct
def sum_in_a_branch():
    """Statistics over all ranks in some steps only."""
    def run(comm, params, state, batch):
        loss, grads = jax.value_and_grad(mlp_loss)(params, batch)
        statistic = lax.cond(state["count"] % 2 == 0, lambda: comm.mean(jnp.mean(batch["x"])), lambda: jnp.float32(0))
        grads = comm.mean(grads)
        state = {"count": state["count"] + 1}
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state, comm.mean(loss) + statistic

    return Step(run, {"params": mlp_params(), "state": {"count": jnp.int32(0)}}, data(),
                gradients=paths(mlp_params()), alike=("state",), forms=("pmap", "stacked", *SHARDED[:2]))


@construct
def pipeline():
    """Two stages on the ranks of an axis; activations and their gradients travel by ppermute."""
    from jax.sharding import PartitionSpec as P

    def run(comm, params, batch):
        stage = comm.over("stage")
        def loss_of(params):
            hidden = jnp.tanh(batch["x"] @ params["layer"][0])
            received = stage.shift(hidden)
            out = jnp.tanh(received @ params["layer"][0])
            last = stage.index() == 1
            return jnp.where(last, cross_entropy(out[:, :CLASSES], batch["y"]), 0.0)
        loss, grads = jax.value_and_grad(loss_of)(params)
        grads = comm.over("data").mean(grads)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), comm.mean(loss)

    layers = jnp.stack([dense(n, WIDTH, WIDTH)["kernel"] for n in (1, 2)])
    return Step(run, {"params": {"layer": layers}}, data(), forms=SHARDED[:2], mesh={"data": 2, "stage": 2},
                gradients=paths({"layer": layers[:1]}), specs={"params": {"layer": P("stage")}})
