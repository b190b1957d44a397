"""TorchScript delegates: ``torch._C._jit_to_backend``, ``torch.jit.save`` and the lite interpreter.

``plugin`` is the toolchain; ``verbs`` run inside a device, ``client`` is what a clause sees of it.
"""
