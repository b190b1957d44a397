"""AOT Autograd: two draws of random numbers are one where gradients are wanted, so that noise is the same twice.

What looks for equal calls in the joint graph (`fx_graph_cse`) has a list of the operators that draw, and `randn_like`,
`randint_like` and `exponential` are not in it. A default `torch.compile` draws twice for these, and once for
`torch.normal`, which is taken apart before."""

import sys

import torch


def noisy(draw):
    def model(x):
        mean = torch.sigmoid(x)
        return mean + draw(mean), mean + draw(mean)

    return model


DRAWS = {
    "randn_like": torch.randn_like,
    "randint_like": lambda mean: torch.randint_like(mean, 1000),
    "normal": lambda mean: torch.normal(mean.detach(), 1.0),
}
same = False
for backend in ("eager", "aot_eager", "inductor"):
    for name, draw in DRAWS.items():
        torch._dynamo.reset()
        one, other = torch.compile(noisy(draw), backend=backend)(torch.randn(20, requires_grad=True))
        print(f"{backend}, {name}: two draws are {'the same numbers' if torch.equal(one, other) else 'two'}")
        same |= torch.equal(one, other)
sys.exit(same)
