# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every way of a slot from every state: slots.test says which there are."""
import sys


def main(source, build):
    sys.path.append(f"{source}/test/Torch")
    from plans import use_build
    use_build(source, build)
    import torch
    from bagua.torch.slot import Slot, State

    gradient, stand_in = torch.ones(2), torch.zeros(2)
    ways = {"give": lambda slot: slot.give(gradient), "stand_in": lambda slot: slot.stand_in(stand_in),
            "leave_unused": Slot.leave_unused, "take_back": Slot.take_back}
    to_reach = {State.OWN: (), State.GIVEN: ("give",), State.PENDING: ("give", "stand_in"), State.UNUSED: ("give", "leave_unused")}
    for state, path in to_reach.items():
        for name, go in ways.items():
            slot = Slot("w", torch.nn.Parameter(torch.ones(2)), 0, is_optional=False, is_in_arena=False)
            for step in path:
                ways[step](slot)
            assert slot.state is state, f"{path} led to {slot.state}"
            try:
                go(slot)
                print(f"{state.name} {name}: {slot.state.name}, {'holds' if slot.held is gradient else 'holds none'}, "
                      f"{'with a stand-in' if slot.pending is stand_in else 'alone'}")
            except AssertionError as error:
                print(f"{state.name} {name}: {error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
