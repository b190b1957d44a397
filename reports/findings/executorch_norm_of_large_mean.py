"""ExecuTorch's own kernels, without a delegate: a layer norm of numbers with a large mean is wrong.

The kernel takes the variance for the mean of the squares less the square of the mean. In 32 bits their difference has
few digits left once the mean is some thousand times the spread, as of pressures in hectopascals: the results are off by
a tenth and more, and where the spread is less, by several times what is right. The kernel of `var` is right for the
same numbers.
"""

import sys

import torch
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime

model = torch.nn.LayerNorm(8).eval()
spread = torch.linspace(-0.5, 0.5, 8).repeat(2, 1)
for mean in (0.0, 100.0, 1013.0):
    x = spread + mean
    exported = torch.export.export(model, (x,))
    program = Runtime.get().load_program(to_edge_transform_and_lower(exported).to_executorch().buffer)
    (found,) = program.load_method("forward").execute((x,))
    exact = model.double()(x.double())
    model.float()
    if (found - exact).abs().max() > 0.05:
        sys.exit(
            f"of a mean of {mean}: expected {exact[0].tolist()}, found {found[0].tolist()}; eager PyTorch gives "
            f"{model(x)[0].tolist()}"
        )
