"""When gradients of a slow backward are given: check_given_early.py SOURCE BUILD WORK"""
import os
import sys
import time

import plans


def main(source, build, work):
    os.makedirs(work, exist_ok=True)
    plans.use_build(source, build)
    import torch
    from torch import nn
    import bagua.torch
    from bagua import runtime
    given = []

    class Slow(torch.autograd.Function):
        @staticmethod
        def forward(_, x):
            return x.clone()

        @staticmethod
        def backward(_, gradient):
            given.append(len(model._given))
            time.sleep(0.01)  # much longer than gradients wait for each other
            return gradient

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

        def forward(self, x):
            for layer in self.layers:
                x = Slow.apply(layer(x))
            return x

    made = Net()
    with open(f"{work}/model.csv", "w", encoding="utf-8") as file:
        file.write("name,tensors,forward_ns,backward_ns,ready,activation_bytes\n")
        file.writelines(f"layers.{i},weight=8x8xf32;bias=8xf32,1000,1000,1000,128\n" for i in range(3))
    # A layer's gradients have 288 bytes.
    plans.make_plans(f"{work}/model.csv", 1, {f"{work}/three.bagua": "ddp{first-bytes=288 cap-bytes=288 updates=program}",
                                              f"{work}/two.bagua": "ddp{first-bytes=288 cap-bytes=576 updates=program}"})
    for messages in ("three", "two"):
        model = bagua.torch.DataParallel(made, f"{work}/{messages}.bagua", world=runtime.World.in_process(1)[0])
        for step in range(4):
            given.clear()
            model(torch.randn(4, 8)).sum().backward()
            model.zero_grad()
            if step:
                print(f"{messages} messages, given at each layer: {given}")
        model.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
