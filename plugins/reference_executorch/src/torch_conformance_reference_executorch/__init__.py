"""A conforming delegate of ExecuTorch: ``partition`` is its ahead-of-time half, ``csrc`` its run-time half."""
