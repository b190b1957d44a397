"""What is written in Python is read by PyTorch's C++, which takes whole numbers in certain lengths alone."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from conformance.compare.values import decode, encode


@pytest.mark.parametrize(
    "value", [5, True, -(2**31), 2**31, -(2**35), 2**40, [2**31 - 1, (1.5, {"key": -(2**63)})], {2**33: "text"}]
)
def test_whole_numbers_of_any_size_are_read_by_pytorchs_cpp(value: Any) -> None:
    read: Any = torch._C._pickle_load_obj(encode(value))
    assert read == value
    assert decode(encode(value)) == value
