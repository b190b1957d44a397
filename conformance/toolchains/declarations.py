"""Verbs as a client declares them: by the signature of a method, whose annotations say how arguments and reply travel.

Only builtin values travel to a device and back. The annotation says how everything else is converted to them:

- a :class:`Handle` travels as its number; ``from_reply`` of its class makes one from a reply;
- what is marked as :attr:`Mark.VALUE`, such as :data:`Value` and :data:`Inputs`, is encoded to bytes;
- a call travels as two arguments, ``method`` and ``inputs``; an object whose class has the attribute ``travels_as``
  travels as the arguments that are named there;
- a frozen dataclass comes back as a mapping of its fields;
- lists, tuples and mappings travel item by item, and any other value unchanged.

A reply comes from a process in which the backend may have done anything: one that is not what the annotation says is a
failure of the backend (:class:`~conformance.api.errors.GarbledValue`).

A clause's script has copies of this (see :mod:`conformance.standalone.reproducers`), where the replies are known.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, Self, TypeVar

from conformance.api.case import Call
from conformance.api.errors import GarbledValue
from conformance.compare.values import decode, encode
from conformance.toolchains import toolchain_named

Asking = TypeVar("Asking", bound=Callable[..., Any])
#: Name of an argument → the attribute of the object that travels as it, and its annotation.
Parts = Mapping[str, tuple[str, Any]]


class Mark(enum.Enum):
    """How an argument or a reply with a marked annotation travels."""

    #: Encoded to bytes.
    VALUE = "value"
    #: The value is a call; its inputs travel, encoded to bytes.
    INPUTS = "inputs"
    #: Not at all: it is the phase under which a failure is filed.
    PHASE = "phase"


@dataclasses.dataclass(frozen=True)
class Saved:
    """Marks bytes that one process saves and another loads. ``kind`` names the kind of such a file; when empty, the
    argument ``runtime`` does."""

    kind: str = ""


#: A value of a model: tensors, numbers, texts, and containers of these.
Value = Annotated[Any, Mark.VALUE]
#: The arguments of a call.
Inputs = Annotated[tuple[Any, ...], Mark.VALUE]
#: Names → values.
NamedValues = Annotated[dict[str, Any], Mark.VALUE]
#: A call of which only the inputs matter.
InputsOf = Annotated[Call, Mark.INPUTS]
#: What a failure is filed under.
Phase = Annotated[str, Mark.PHASE]


@dataclasses.dataclass(frozen=True, slots=True)
class Handle:
    """Something that a device holds, by its number there."""

    number: int

    @classmethod
    def from_reply(cls, value: Any, reply: Any) -> Self:
        """The handle of what was just made."""
        return cls(expected(int, value))


#: A call, as :attr:`Handle` and what has ``travels_as`` are: its method and its inputs.
_CALL: Parts = {"method": ("method", str), "inputs": ("inputs", Inputs)}


@dataclasses.dataclass(frozen=True)
class Declaration:
    """A verb, as a client's method declares it."""

    verb: str
    #: What a failure is filed under where no argument says it.
    phase: str
    method: Callable[..., Any]
    #: The argument that says how many items come back: it is their number, or has one for each.
    each: str = ""

    @functools.cached_property
    def signature(self) -> inspect.Signature:
        """The parameters of the method, ``self`` first."""
        return inspect.signature(self.method)

    @functools.cached_property
    def hints(self) -> dict[str, Any]:
        """The annotations of its parameters, and of what it returns. Read at the first use: they may be of classes
        that are defined below."""
        return typing.get_type_hints(self.method, include_extras=True)

    def message(self, *given: Any, **named: Any) -> tuple[str, dict[str, Any]]:
        """The phase and the arguments of the verb for a call of the method. Raises TypeError as that call would."""
        bound = self.signature.bind(*given, **named)
        bound.apply_defaults()
        phase, arguments = self.phase, dict[str, Any]()
        for name, value in list(bound.arguments.items())[1:]:
            hint = self.hints[name]
            match self.signature.parameters[name].kind:
                case inspect.Parameter.VAR_POSITIONAL:
                    arguments[name] = [packed(hint, each) for each in value]
                case inspect.Parameter.VAR_KEYWORD:
                    arguments |= {each: packed(hint, item) for each, item in value.items()}
                case _ if Mark.PHASE in marks_of(hint):
                    phase = value
                case _ if parts_of(hint):
                    arguments |= packed(hint, value)
                case _:
                    arguments[name] = packed(hint, value)
        return phase, arguments

    def read(self, value: Any, reply: Any) -> Any:
        """What the method returns for a value that came back. Raises GarbledValue for one that is no answer."""
        with reading(self.verb):
            return unpacked(self.hints["return"], value, reply)


def ask(*, verb: str = "", phase: str = "", each: str = "") -> Callable[[Asking], Asking]:
    """Declare a verb by a method without a body, which then asks a device for it.

    The ``verb`` is the method's name, without the underscore of one that only other methods call; a failure is filed
    under the verb's name unless a ``phase`` is given. As many items come back as the argument ``each`` has, or says.
    The method raises what :meth:`conformance.devices.Device.call` does, and GarbledValue for an answer that is none.
    """

    def declare(method: Asking) -> Asking:
        name = verb or method.__name__.removeprefix("_")

        @functools.wraps(method)
        def asking(device: Any, *given: Any, **named: Any) -> Any:
            declared = declaration_of(asking)
            filed_under, arguments = declared.message(device, *given, **named)
            value = device.call(declared.verb, filed_under, **arguments)
            read = declared.read(value, device.last_reply)
            if each:
                expect_items(read, declared.signature.bind(device, *given, **named), each)
            return read

        asking.declares = (name, phase or name, each)  # type: ignore[attr-defined]
        return typing.cast(Asking, asking)

    return declare


@functools.cache
def declaration_of(method: Callable[..., Any]) -> Declaration:
    """What a method declares that is decorated with :func:`ask`."""
    verb, phase, each = method.declares  # type: ignore[attr-defined]
    return Declaration(verb, phase, inspect.unwrap(method), each)


@contextlib.contextmanager
def reading(verb: str) -> Iterator[None]:
    """A block that reads a device's answer to a verb. Raises GarbledValue in place of the errors of a malformed one."""
    try:
        yield
    except GarbledValue:
        raise
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise GarbledValue(f"no answer to {verb!r}: {type(error).__name__}: {error!s:.300}") from error


def expect_items(items: Any, bound: inspect.BoundArguments, name: str) -> None:
    """Raise GarbledValue unless there are as many items as the argument ``name`` asks for: its value if it is a number,
    its length if it is a list or tuple, else one."""
    bound.apply_defaults()
    said = bound.arguments[name]
    expect_count(items, said if isinstance(said, int) else len(said) if isinstance(said, list | tuple) else 1)


def expect_count(items: Any, wanted: int) -> None:
    """Raise GarbledValue unless there are as many items as are wanted."""
    if len(items) != wanted:
        raise GarbledValue(f"an answer of {len(items)} items, where {wanted} were asked for")


def packed(hint: Any, value: Any) -> Any:
    """A value with that annotation as it travels to a device."""
    if isinstance(value, Handle):
        return value.number
    hint = without_none(hint, value)
    marks, parts, kinds = marks_of(hint), parts_of(type(value)), typing.get_args(hint)
    if Mark.VALUE in marks:
        return encode(value)
    if Mark.INPUTS in marks:
        return encode(value.inputs)
    if parts:
        return {name: packed(part, getattr(value, attribute)) for name, (attribute, part) in parts.items()}
    if isinstance(value, list | tuple):
        return [packed(each, item) for each, item in items_of(hint, value)]
    if isinstance(value, dict) and kinds:
        return {key: packed(kinds[1], item) for key, item in value.items()}
    return value


def unpacked(hint: Any, value: Any, reply: Any) -> Any:
    """The value with that annotation for what came back from a device; ``reply`` is the whole reply."""
    hint = without_none(hint, value)
    origin, kinds = typing.get_origin(hint), typing.get_args(hint)
    if Mark.VALUE in marks_of(hint):
        return expected(hint, decode(value))
    if hasattr(hint, "from_reply"):
        return hint.from_reply(value, reply)
    if origin in (list, tuple):
        return origin(unpacked(each, item, reply) for each, item in items_of(hint, value))
    if origin is dict:
        return {key: unpacked(kinds[1], item, reply) for key, item in value.items()}
    if dataclasses.is_dataclass(hint):
        fields = typing.get_type_hints(hint, include_extras=True)
        return typing.cast(type, hint)(**{name: unpacked(fields[name], item, reply) for name, item in value.items()})
    return expected(hint, value)


def expected(hint: Any, value: Any) -> Any:
    """The value, if it is what the annotation says. Raises GarbledValue otherwise."""
    if not fits(hint, value):
        raise GarbledValue(f"{type(value).__name__} was answered, where {getattr(hint, '__name__', hint)} is expected")
    return value


def fits(hint: Any, value: Any) -> bool:
    """Whether a value is one that an annotation allows. Lists travel as tuples where it does not matter."""
    hint = getattr(hint, "__origin__", hint) if marks_of(hint) else hint
    origin, kinds = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return True
    if hint is None or hint is type(None):
        return value is None
    if _is_union(hint):
        return any(fits(each, value) for each in kinds)
    if typing.is_typeddict(hint):
        fields = typing.get_type_hints(hint, include_extras=True)
        return isinstance(value, dict) and all(
            fits(fields[name], value[name]) if name in value else name not in hint.__required_keys__ for name in fields
        )
    if origin is dict:
        return isinstance(value, dict) and all(fits(kinds[0], k) and fits(kinds[1], v) for k, v in value.items())
    if origin in (list, tuple):
        if not isinstance(value, list | tuple):
            return False
        some = origin is list or kinds[-1] is Ellipsis
        return (some or len(kinds) == len(value)) and all(fits(each, item) for each, item in items_of(hint, value))
    if hint in (int, float):  # of which a truth value is none
        return isinstance(value, int | hint) and not isinstance(value, bool)
    return isinstance(value, hint)


def marks_of(hint: Any) -> tuple[Any, ...]:
    """What an annotation is marked with."""
    return getattr(hint, "__metadata__", ())


def parts_of(kind: Any) -> Parts:
    """The arguments as which objects of a class travel; empty if they travel as one argument."""
    return _CALL if kind is Call else getattr(kind, "travels_as", {})


def without_none(hint: Any, value: Any) -> Any:
    """The member of a union with None that applies to a value; any other annotation as it is."""
    if not _is_union(hint):
        return hint
    return next(each for each in typing.get_args(hint) if (each is type(None)) == (value is None))


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) in (types.UnionType, typing.Union)


def items_of(hint: Any, items: Iterable[Any]) -> Iterable[tuple[Any, Any]]:
    """The items of a list or a tuple, each after its annotation."""
    kinds = typing.get_args(hint) or (Any,)
    if typing.get_origin(hint) is tuple and kinds[-1] is not Ellipsis:
        return zip(kinds, items, strict=True)
    return ((kinds[0], item) for item in items)


# For tests and reproducers that look at declarations; no script has copies of these.


@functools.cache
def declarations_of(toolchain: str) -> dict[str, Declaration]:
    """Every verb that the methods of a toolchain's client declare, by its name."""
    client = toolchain_named(toolchain).client_class()
    methods = [getattr(client, name) for name in dir(client)]
    return {each.verb: each for each in map(declaration_of, (each for each in methods if hasattr(each, "declares")))}


def arguments_of(declaration: Declaration) -> dict[str, Any]:
    """The arguments of a verb, and the annotation of each; one of variable number is a list. Those that a verb takes
    under any name are not listed."""
    found: dict[str, Any] = {}
    for name, parameter in list(declaration.signature.parameters.items())[1:]:
        hint = declaration.hints[name]
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            found[name] = list[hint]  # type: ignore[valid-type]
        elif parts := parts_of(hint):
            found |= {each: part for each, (_, part) in parts.items()}
        elif parameter.kind is not inspect.Parameter.VAR_KEYWORD and Mark.PHASE not in marks_of(hint):
            found[name] = hint
    return found


def hints_within(hint: Any, items: Mapping[str, Any]) -> dict[str, Any]:
    """The annotation of each item of a mapping that travelled: an object that travels as several arguments, or a
    mapping."""
    for each in typing.get_args(hint) if _is_union(hint) else (hint,):
        if parts_of(each).keys() == items.keys():
            return {name: part for name, (_, part) in parts_of(each).items()}
    kinds = typing.get_args(without_none(hint, items))
    return dict.fromkeys(items, kinds[1] if kinds else Any)


def is_handle(hint: Any) -> bool:
    """Whether an annotation is of what a device holds."""
    return isinstance(hint, type) and issubclass(hint, Handle)


def saved_as(hint: Any) -> Saved | None:
    """The mark of an annotation for bytes that are saved and loaded; None if it has none."""
    return next((each for each in marks_of(hint) if isinstance(each, Saved)), None)
