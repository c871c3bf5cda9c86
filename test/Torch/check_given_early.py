# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""When gradients of a slow backward are given, and which: check_given_early.py SOURCE BUILD WORK"""
import contextlib
import os
import sys
import time

import plans


def main(source, build, work):
    os.makedirs(work, exist_ok=True)
    plans.use_build(source, build)
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint
    import bagua.torch
    from bagua import runtime
    given, wrapped = [], []

    class Slow(torch.autograd.Function):
        @staticmethod
        def forward(_, x):
            return x.clone()

        @staticmethod
        def backward(_, gradient):
            given.extend(len(model._training.gradients.given) for model in wrapped)
            time.sleep(0.01)  # much longer than gradients wait for each other
            return gradient

    class Net(nn.Module):
        """The layers of `again` are computed again in backward, each within a backward of its own."""

        def __init__(self, again=()):
            super().__init__()
            torch.manual_seed(0)
            self.layers, self.again = nn.ModuleList(nn.Linear(8, 8) for _ in range(3)), again

        def forward(self, x):
            for i, layer in enumerate(self.layers):
                x = Slow.apply(checkpoint(layer, x, use_reentrant=True) if i in self.again else layer(x))
            return x

    with open(f"{work}/model.csv", "w", encoding="utf-8") as file:
        file.write("name,tensors,forward_ns,backward_ns,ready,activation_bytes\n")
        file.writelines(f"layers.{i},weight=8x8xf32;bias=8xf32,1000,1000,1000,128\n" for i in range(3))
    # A layer's gradients have 288 bytes.
    plans.make_plans(f"{work}/model.csv", 1, {f"{work}/three.bagua": "ddp{first-bytes=288 cap-bytes=288 updates=program}",
                                              f"{work}/two.bagua": "ddp{first-bytes=288 cap-bytes=576 updates=program}"})

    @contextlib.contextmanager
    def training(net, messages, views=True):
        with bagua.torch.DataParallel(net, f"{work}/{messages}.bagua", world=runtime.World.in_process(1)[0],
                                      gradient_as_bucket_view=views) as model:
            wrapped[:] = [model]
            yield model
        wrapped.clear()

    def backward(model):
        given.clear()
        model(torch.ones(4, 8).requires_grad_()).sum().backward()

    for messages, views in (("three", True), ("two", True), ("two", False)):
        with training(Net(), messages, views) as model:
            for step in range(4):
                backward(model)
                model.zero_grad()
                if step:
                    print(f"{messages} messages, {'' if views else 'no '}views, given at each layer: {given}")

    with training(Net(), "two") as model:
        def loss():
            return model(torch.ones(4, 8)).sum()
        for _ in range(2):
            with model.no_sync():
                first = loss()
            second = loss()
            with model.no_sync():
                first.backward()
            given.clear()
            second.backward()
            model.zero_grad()
        print(f"two forwards before two backwards: {given}")
    with training(Net(again=[2]), "two") as model:
        for _ in range(2):
            backward(model)
            model.zero_grad()
        print(f"a layer within a backward of its own: {given}")

    # The runtime reduces a gradient as the param's own hooks left it, whatever hooks of other params do before it is given.
    def gradients_with(hook):
        net = Net()
        params = [param for layer in reversed(net.layers) for param in (layer.bias, layer.weight)]
        with training(net, "two") as model:
            for former, param in zip(params, params[1:]):
                param.register_post_accumulate_grad_hook(lambda _, former=former: hook(former))
            backward(model)
            return [param.grad.clone() for param in net.parameters()]

    def drop(param):
        param.grad = None

    def replace(param):
        param.grad = torch.ones_like(param)

    def hook_again(param):
        param.register_post_accumulate_grad_hook(lambda _: None)

    expected = gradients_with(lambda _: None)
    for hook in (drop, replace, hook_again):
        same = all(torch.equal(*pair) for pair in zip(gradients_with(hook), expected))
        print(f"with hooks that {hook.__name__.replace('_', ' ')}: {'the same' if same else 'others'}")

    def error_of(call):
        try:
            call()
        except RuntimeError as error:
            print(f"error: {error}")

    # A backward that fails in the middle, and one of what comes before it.
    class Heads(Net):
        def forward(self, x):
            return [layer(x).sum() for layer in self.layers]

    def refuse(_):
        raise RuntimeError("no more")
    net = Heads()
    with contextlib.suppress(runtime.Error), training(net, "two") as model:
        net.layers[1].weight.register_post_accumulate_grad_hook(refuse)
        first, second, third = model(torch.ones(4, 8))
        error_of((second + third).backward)
        error_of(first.backward)

    net = Net()
    with contextlib.suppress(runtime.Error), training(net, "two") as model:
        optimizer = torch.optim.SGD(net.parameters(), lr=1)
        net.layers[0].weight.register_post_accumulate_grad_hook(lambda _: optimizer.step())
        error_of(lambda: backward(model))


if __name__ == "__main__":
    main(*sys.argv[1:])
