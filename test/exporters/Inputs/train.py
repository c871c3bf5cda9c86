# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A user's steps, in the ways in which they are given to devices."""
import functools

import jax
import jax.numpy as jnp
import numpy
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

PARAMS = {"dense": {"kernel": jnp.ones((4, 2)), "bias": jnp.zeros(2)}}


def loss(params, batch):
    return jnp.mean((batch["x"] @ params["dense"]["kernel"] + params["dense"]["bias"] - batch["y"]) ** 2)


def train(params, batch):
    value, grads = jax.value_and_grad(loss)(params, batch)
    grads = lax.pmean(grads, "data")
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), lax.pmean(value, "data")


def batch_of(*lead):
    return {"x": jax.ShapeDtypeStruct((*lead, 4), jnp.float32), "y": jax.ShapeDtypeStruct((*lead, 2), jnp.float32)}


def pmapped():
    step = jax.pmap(train, "data", in_axes=(None, 0), out_axes=None, donate_argnums=0)
    return step, (PARAMS, batch_of(2, 8))


def mapped():
    mesh = Mesh(numpy.array(jax.devices()[:2]), ("data",))
    return jax.shard_map(train, mesh=mesh, in_specs=(P(), P("data")), out_specs=(P(), P()), check_vma=False)


def sharded():
    return mapped(), (PARAMS, batch_of(16))


def jitted():
    @functools.partial(jax.jit, donate_argnums=0)
    def step(params, batch):
        return mapped()(params, batch)
    return step, (PARAMS, batch_of(16))


def annotated():
    """Params in parts, by their shardings alone."""
    mesh = Mesh(numpy.array(jax.devices()[:2]), ("data",))
    cut = NamedSharding(mesh, P("data"))
    params = {"dense": {"kernel": cut, "bias": cut}}

    @functools.partial(jax.jit, donate_argnums=0, in_shardings=(params, cut), out_shardings=(params, None))
    def step(params, batch):
        value, grads = jax.value_and_grad(loss)(params, batch)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value
    return step, (PARAMS, batch_of(16))


def scanned():
    """Three layers in a scan, each gathered when it is used."""
    mesh = Mesh(numpy.array(jax.devices()[:2]), ("data",))
    cut, whole = NamedSharding(mesh, P(None, "data")), NamedSharding(mesh, P())
    kept = NamedSharding(mesh, P("data"))

    def apply(hidden, layer):
        layer = jax.lax.with_sharding_constraint(layer, whole)
        return jax.lax.with_sharding_constraint(jnp.tanh(hidden @ layer), kept), None

    @functools.partial(jax.jit, donate_argnums=0, in_shardings=(cut, kept), out_shardings=(cut, None))
    def step(layers, batch):
        value, grads = jax.value_and_grad(lambda layers: jnp.mean(jax.lax.scan(apply, batch, layers)[0]))(layers)
        return layers - 0.1 * grads, value
    return step, (jax.ShapeDtypeStruct((3, 4, 4), jnp.float32), jax.ShapeDtypeStruct((16, 4), jnp.float32))


def nothing():
    return 1
