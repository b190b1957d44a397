"""What a toolchain is: a PyTorch stack that backends plug into, as one object."""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from conformance.api.backend import Backend
from conformance.devices import DeviceKind, ZygoteKind
from conformance.extensions import CaseModules, given, resolve
from conformance.toolchains.source import Source

if TYPE_CHECKING:
    from conformance._util.compiling import Compilation
    from conformance.devices import Codec
    from conformance.toolchains.client import CellDevice


@dataclasses.dataclass(frozen=True, slots=True)
class StandIn:
    """What stands in for a backend where a clause asks for more than plain PyTorch to excuse a failure
    (``Control.STAND_INS``): its source, and how a report calls it."""

    source: Source
    title: str


@dataclasses.dataclass(frozen=True, slots=True)
class NativeProgram:
    """A program without Python that answers verbs: how it is compiled, how its messages are encoded.

    It is started with descriptors of the connection and of a file for its stack, the backend's name, and libraries.
    """

    compilation: Compilation
    codec: Codec


@dataclasses.dataclass(frozen=True, slots=True)
class ProgramTraits:
    """What models of a toolchain do with a generated program, beside computing what it says.

    Its devices answer the verbs ``know`` and ``play``; see :mod:`conformance.generate.play`.
    """

    #: Whether a model keeps the weights that it had when it was lowered, and not those that it gets later.
    copies_weights: bool
    #: Whether a result shares memory with an argument, or is one, wherever it does in eager PyTorch.
    keeps_aliases: bool
    #: Whether a result has the strides of eager PyTorch's; otherwise strides are not compared.
    keeps_strides: bool
    #: Whether a call writes to arguments and buffers what it writes in eager PyTorch.
    keeps_writes: bool
    #: Whether gradients can be computed through it, as eager PyTorch computes them.
    keeps_gradients: bool
    #: Whether it can be put into training mode after it was lowered.
    trains: bool
    #: Whether a lowered model can be saved and loaded, and copied.
    saves: bool
    #: Whether a model may contain any Python, and not only what a scripted one may.
    takes_python: bool
    #: Whether a call finds in the model's buffers what the calls before it wrote there. Where calls do not keep their
    #: writes, these are seen by calls of the first one's kind alone, and what is loaded or copied begins with zeros.
    keeps_state: bool = False
    #: Whether one process can lower a model and save it for another, which has never seen it.
    moves: bool = False
    #: Whether a model's weights can be made constants of its graph before it is lowered.
    freezes: bool = False
    #: The decorator by which a model says that a method beside ``forward`` is to be lowered too; empty where a lowered
    #: model has ``forward`` alone.
    decorator_of_methods: str = ""
    #: Whether an argument may be None in one call of a model, and a tensor in another.
    takes_none: bool = True
    #: Whether an argument may be a list of numbers, which are others in another call.
    takes_lists: bool = False
    #: Whether numbers may be among the results of a model.
    gives_numbers: bool = False
    #: Whether a model may decide by the values of its tensors what it does.
    reads_values: bool = True
    #: Whether what is lowered serves one kind of call alone, and lowering takes long: so trials lower seldom, and call
    #: often.
    is_costly: bool = False
    #: Whether arguments may lie in memory in any way; else they are contiguous, or have their channels last.
    takes_layouts: bool = True
    #: Whether products over no elements are zeros; else none is drawn.
    multiplies_nothing: bool = True
    #: Whether a backend may refuse an operator, by an error of lowering that names it; one that chooses what it takes
    #: has no need to.
    may_refuse: bool = True
    #: Operators and dtypes that no model of the toolchain can have, whatever the backend: none of them is drawn. What
    #: cannot be had and is not named here is found out by trials without a backend, and judges nobody.
    lacks: frozenset[str] = frozenset()


@dataclasses.dataclass(frozen=True, slots=True)
class Reproduction:
    """What a script without the harness has to know of a backend, but cannot ask it. Every value is a builtin one."""

    #: The names of its libraries' files.
    libraries: tuple[str, ...] = ()
    #: Whether only the author's class can load it, and whether that lowers by a call of its own.
    loads: bool = True
    lowers: bool = False
    #: Case → the encoded compile spec that the class gives for it.
    specs: dict[str, bytes] = dataclasses.field(default_factory=dict)
    #: What the compiler is given beside the backend's name; ``options`` are None where they cannot be written down.
    options: dict[str, Any] | None = dataclasses.field(default_factory=dict)
    mode: str | None = None
    #: The modules that its author names.
    runtime: tuple[str, ...] = ()
    #: The module that registers it when it is imported, where no entry point names it.
    imports: str = ""


class Toolchain:
    """A PyTorch stack that backends plug into. A subclass overrides what its stack has; the defaults stand for nothing.

    An instance is given by the hook ``conformance_toolchains``. Its module imports nothing that takes time: what runs
    in devices, or for some commands alone, is named as ``module:attribute``.
    """

    #: The name in reports, in ``--backend=NAME:...``, and of ``Backend.toolchain``.
    name: ClassVar[str]
    #: What its backends are, for lists and help texts: "torch.compile backends".
    summary: ClassVar[str]
    #: The ways in which its modules can run, as cells name them; the first is that of a clause which names none.
    runtimes: ClassVar[tuple[str, ...]]
    #: What authors derive their classes from.
    backend_class: ClassVar[type[Backend]] = Backend
    #: Whether it is meant where no toolchain is named, by a clause of a former release or for a library. One is.
    is_default: ClassVar[bool] = False

    #: Modules that it needs and the harness does not bring, and the command that installs them. It has a contract of
    #: its own then, which can be read without them; where one is missing none of its backends can be used.
    requires: ClassVar[tuple[str, ...]] = ()
    installed_by: ClassVar[str] = ""

    #: The function that makes the session of a device, which answers verbs: ``module:function``.
    session: ClassVar[str]
    #: The class of devices that clauses see, a :class:`conformance.toolchains.client.CellDevice`: ``module:class``.
    client: ClassVar[str]
    #: The module that warms up the zygote of its devices; see :class:`conformance.devices.ZygoteKind`.
    preload: ClassVar[str] = ""
    #: The same of those that load what others lowered; empty: :attr:`preload`.
    preload_of_targets: ClassVar[str] = ""
    #: Environment variables of its devices that name a folder which no earlier run has written to.
    run_folders: ClassVar[tuple[str, ...]] = ()
    #: Modules whose import registers the cases of its corpus.
    cases: ClassVar[tuple[str, ...]] = ()
    #: The folder of its part of the contract: files ``test_*.py``, each a suite.
    suites: ClassVar[Path]

    #: What its models do with generated programs; None: there are no generated clauses for it.
    programs: ClassVar[ProgramTraits | None] = None

    #: What excuses a failure under ``Control.STAND_INS``, after plain PyTorch.
    stand_ins: ClassVar[tuple[StandIn, ...]] = ()
    #: Names of installed backends that must pass everything, for the self-test.
    conforming: ClassVar[tuple[str, ...]] = ()
    #: The entry points by which PyTorch itself finds its backends, where there are such.
    entry_point_group: ClassVar[str] = ""
    #: Whether importing a vendor's module can be all that registers a backend: ``--backend=MODULE:NAME``.
    registers_on_import: ClassVar[bool] = False
    #: Whether its backends take ``--conformance-compile-options``.
    takes_options: ClassVar[bool] = False
    #: What a library must have to be found by ``--conformance-library``, the end of a sentence; empty: none is.
    library_hint: ClassVar[str] = ""
    #: Seconds in which an operator on one sample must come back, or it hangs.
    seconds_of_an_operator: ClassVar[float] = 10.0
    #: The parts of its reproducers, a :class:`conformance.standalone.reproducers.Kit`; empty: it has none.
    kit: ClassVar[str] = ""
    #: Reading and writing golden sets, a module; empty: it has none.
    goldens: ClassVar[str] = ""
    #: Whether its cells can be packed for targets that cannot be reached.
    can_pack: ClassVar[bool] = False
    #: The folder of templates of ``conformance new``; None: it has none.
    templates: ClassVar[Path | None] = None

    def lacking(self) -> str:
        """Why its backends cannot be used here, and what to do about it; empty where they can."""
        missing = [name for name in self.requires if not _is_installed(name)]
        if not missing:
            return ""
        return f"{self.summary} need {' and '.join(missing)}, which is not installed: {self.installed_by}"

    # Devices.

    def zygote(self, role: str) -> ZygoteKind:
        """The process from which a device for a role is forked.

        What loads is no relative of what saved: forks of one process have the same addresses and the same salt of
        hashes, and an artifact that holds either would work in all of them, and nowhere else. What is generated is
        loaded by the device "alone", so that there the one that saves "elsewhere" is the stranger, unless that process
        is not made for lowering.
        """
        imports = ("conformance.toolchains.preloaded", *self.case_modules)
        lowers_for_another = role == "elsewhere" and not self.preload_of_targets
        if role.partition(" ")[0] == "target" or lowers_for_another:
            return ZygoteKind(f"{self.name}, apart", imports, self.preload_of_targets or self.preload)
        return ZygoteKind(self.name, imports, self.preload, makes_models=True)

    def device(self, role: str = "host") -> DeviceKind:
        """A device for a role in a cell: "host", "target", "native", "bare", "control", or what a clause calls it.

        What is generated is lowered and run "alone", in one process that is host and target, or lowered "elsewhere".
        """
        return DeviceKind(self.name, role, self.session, self.zygote(role), self.run_folders)

    @property
    def case_modules(self) -> tuple[str, ...]:
        """The modules of its corpus, and those that extensions add."""
        added = [each.modules for each in given("conformance_cases", CaseModules) if each.toolchain == self.name]
        return (*self.cases, *(module for modules in added for module in modules))

    def client_class(self) -> type[CellDevice]:
        """The class that :attr:`client` names."""
        found: type[CellDevice] = resolve(self.client)
        return found

    def native_program(self) -> NativeProgram | None:
        """The program without Python that answers for its artifacts; None where there is none."""
        return None

    # Finding backends. The methods marked so run in a child, where the toolchain's PyTorch may be imported.

    def sources(self) -> tuple[Source, ...]:
        """Backends that are known without a class, importing nothing of theirs."""
        return ()

    def known(self) -> dict[str, list[str]]:
        """In a child: names that PyTorch itself knows backends by, with tags; what has a tag is for debugging alone."""
        return {}

    def named(self, name: str) -> Backend:
        """In a child: the backend of a source without a class. Raises LookupError where none can be made of a name."""
        raise LookupError(f"backends of the toolchain {self.name} have a class, and {name!r} has none")

    def registered_by(self, module: str, name: str) -> Backend:
        """In a child: the backend that a module registers under the name when it is imported, which ``load()`` does.

        Raises LookupError where :attr:`registers_on_import` is false.
        """
        raise LookupError(f"backends of the toolchain {self.name} are not registered by importing a module: {module}")

    def from_library(self, path: str) -> Backend:
        """In a child: a backend that loads a library. Raises LookupError where libraries say nothing."""
        raise LookupError(f"libraries say nothing to the toolchain {self.name}: {path}")

    def registered(self) -> set[str]:
        """In a child: the names that libraries have registered in this process so far."""
        return set()

    def names_taken(self) -> Mapping[str, str]:
        """Names that a new backend cannot have, with whose they are. May import PyTorch's part of the toolchain."""
        return {}

    # Describing one. All in a child.

    def problems(self, backend: Backend) -> list[str]:
        """What is wrong with those attributes of an author's class that are the toolchain's own, a sentence each."""
        return []

    def details(self, backend: Backend, *, prepared: bool) -> dict[str, Any]:
        """What a description says beyond what every backend has: ``libraries``, ``files``, ``options``.

        Before it was ``prepared`` its files need not be there. Raises PluginError for what cannot be described.
        """
        return {}

    def configure(self, backend: Backend, options: dict[str, Any]) -> None:
        """Give a backend these options in place of its own."""

    def expect_known(self, backend: Backend, registered: list[str]) -> None:
        """Raise PluginError unless PyTorch knows the backend after its ``load()``, which ``registered`` these names."""

    def reproduction(self, backend: Backend, cases: list[str]) -> Reproduction:
        """What a script without the harness has to know of the backend; ``cases`` are those that it lowers."""
        return Reproduction()

    # Telling failures.

    def gist(self, text: str) -> str:
        """What an exception says, without what PyTorch's part of the toolchain puts around it."""
        return text


def _is_installed(module: str) -> bool:
    """Whether a module could be imported, as far as looking for it tells."""
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:
        return False
