# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts that name axes of a mesh, as newer partitioners write them, cut arrays as JAX says that the same axes do: layouts.py"""
import itertools
import os
import re
import sys

DEVICES = 8
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES}"
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))

# By sizes of the mesh's axes; and the same devices in another order.
MESHES = ([8], [2, 4], [4, 2], [2, 2, 2])


def specs(names, dimensions):
    """Every way to cut dimensions along some of the axes, in any order."""
    for used in range(len(names) + 1):
        for order in itertools.permutations(names, used):
            for ends in itertools.combinations_with_replacement(range(used + 1), dimensions - 1):
                yield [list(order[begin:end]) for begin, end in zip((0, *ends), (*ends, used))]


def devices_of(layout, shape):
    """By device: the pieces that it has, as an array of the device numbers of each tile."""
    import numpy
    if layout == "{replicated}":
        return numpy.arange(DEVICES).reshape([1] * shape + [DEVICES])
    tile, dims, order = re.fullmatch(r"\{devices=\[([\d,]+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?(?: last_tile_dim_replicate)?\}", layout).groups()
    devices = numpy.arange(DEVICES).reshape([int(size) for size in dims.split(",")])
    if order:
        devices = devices.transpose([int(at) for at in order.split(",")])
    devices = devices.reshape([int(size) for size in tile.split(",")])
    return devices if "last_tile_dim" in layout else devices.reshape([*devices.shape, 1])


def main():
    import jax
    import numpy
    from bagua.jax import partitioner
    from jax.sharding import Mesh, NamedSharding, PartitionSpec
    checked = 0
    for sizes, turned in itertools.product(MESHES, (False, True)):
        names, numbers = "abc"[:len(sizes)], numpy.arange(DEVICES).reshape(sizes)
        # The last axis of the mesh is then the first of the device list.
        dims = [sizes[-1], *sizes[:-1]]
        if turned:
            numbers = numpy.moveaxis(numpy.arange(DEVICES).reshape(dims), 0, -1)
        mesh = Mesh(numpy.array(jax.devices())[numbers], tuple(names))
        order = f", device_ids=([{','.join(map(str, dims))}]T({','.join(map(str, [*range(1, len(sizes)), 0]))}))" if turned else ""
        head = "mesh[" + ",".join(f"'{name}'={size}" for name, size in zip(names, sizes)) + "]" + order
        for spec in specs(names, 2):
            said = "[" + ", ".join("{" + ", ".join(f"'{name}'" for name in axes) + "}" for axes in spec) + "]"
            found = partitioner.tiled("{" + head + ", " + said + "}")
            sharding = NamedSharding(mesh, PartitionSpec(*(tuple(axes) or None for axes in spec)))
            wanted = sharding.devices_indices_map((8, 8))
            for place, device in numpy.ndenumerate(devices_of(found, 2)):
                tiles = devices_of(found, 2).shape
                piece = [(8 // count * at, 8 // count * (at + 1)) for count, at in zip(tiles, place[:2])]
                if piece != [(cut.start or 0, 8 if cut.stop is None else cut.stop) for cut in wanted[jax.devices()[device]]]:
                    sys.exit(f"{head} {said}: device {device} has {wanted[jax.devices()[device]]}, found {found}")
            checked += 1
    for kept in ("{replicated}", "{devices=[2,1]<=[2]}", "{manual}"):
        assert partitioner.tiled(kept) == kept
    print(f"{checked} layouts as JAX has them")
    print(partitioner.layouts_in("{{mesh[], replicated}, /*index=1*/{mesh['a'=2], [{'a'}, {}]}}"))
    for refused in ("{mesh['a'=4], [{'a':(1)2}]}", "{mesh['a'=4,'b'=2], device_ids=([2,4]), [{'a'}]}"):
        try:
            partitioner.tiled(refused)
        except SystemExit as error:
            print(error)


if __name__ == "__main__":
    main()
