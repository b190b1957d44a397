"""Backends of ``torch.compile``: lowered when Dynamo compiles a frame, guarded by what was assumed then.

``plugin`` is the toolchain; ``verbs`` run inside a device, where ``watch`` stands between Dynamo and the backend, and
``client`` is what a clause sees of it. Only what runs inside a device imports ``torch._dynamo``, which takes seconds.
"""
