"""ExecuTorch: a partitioner and preprocess ahead of time, a program as bytes, and a delegate in its runtime.

Nothing here needs ExecuTorch to be imported: what uses it lies in ``ahead_of_time`` and ``runtime``, which verbs import
where they are answered.
"""
