"""What DataParallel says to mistakes, one rank each: mistakes.py FOLDER, after check_training.py has made plans there."""
import sys

import torch
from torch import nn

import bagua.torch
import train
from bagua import runtime


def say(what, attempt):
    try:
        attempt()
        print(f"{what}: no error")
    except (ValueError, RuntimeError) as error:
        print(f"{what}: {type(error).__name__}: {error}")


def parallel(model, plan, **options):
    return bagua.torch.DataParallel(model, plan, world=runtime.World.in_process(1)[0], **options)


class Sparse(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 4, sparse=True)

    def forward(self, x):
        return self.table(x)


def main(folder):
    plan = f"{folder}/one.bagua"
    say("another model", lambda: parallel(nn.Linear(3, 3), plan))
    say("another shape", lambda: parallel(nn.ParameterDict({"w": torch.zeros(5)}), f"{folder}/w.bagua"))
    say("another type", lambda: parallel(nn.ParameterDict({"w": torch.zeros(4, dtype=torch.float64)}), f"{folder}/w.bagua"))
    say("no plan", lambda: parallel(nn.Linear(3, 3), f"{folder}/none.bagua"))
    say("a plan for more ranks", lambda: parallel(train.make("momentum")[0], f"{folder}/momentum.bagua"))

    def leave_out():
        model = parallel(train.Net(unused=True), f"{folder}/unused1.bagua")
        model(torch.ones(4, 32)).sum().backward()
    say("unused", leave_out)

    def sparse():
        model = parallel(Sparse(), f"{folder}/sparse.bagua")
        model(torch.tensor([1, 2])).sum().backward()
    say("sparse", sparse)

    def forward_after_error():
        model = parallel(train.Net(), plan)

        class Fails(torch.autograd.Function):
            @staticmethod
            def forward(_, x):
                return x.clone()

            @staticmethod
            def backward(_, gradient):
                raise ArithmeticError("in backward")
        model.module.layers[0].register_forward_hook(lambda *a: Fails.apply(a[2]))
        try:
            model(torch.ones(4, 32)).sum().backward()
        except ArithmeticError:
            pass
        model(torch.ones(4, 32))
    say("after an error in backward", forward_after_error)


main(*sys.argv[1:])
