"""What counts as a function where somebody looks for functions that were replaced."""

from __future__ import annotations

import types

#: The types of functions, methods and descriptors, and of classes. Ask by ``issubclass(type(value), ...)``: isinstance
#: asks an object for its class, of which some of PyTorch's warn.
FUNCTION_TYPES = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.GetSetDescriptorType,
    property,
    staticmethod,
    classmethod,
    type,
)
