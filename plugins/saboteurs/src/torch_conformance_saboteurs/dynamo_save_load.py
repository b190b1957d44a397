"""Saboteurs of torch.compile: what another process reads is not what it should be."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch

from conformance import features
from torch_conformance_saboteurs.dynamo_control import RUNS_IN_PYTORCH, Code, DynamoControl, with_weights_of
from torch_conformance_saboteurs.dynamo_guards import DynamoSpecialises
from torch_conformance_saboteurs.sabotage_tools import Listing

saboteur = Listing()


def exported(graph: torch.fx.GraphModule) -> bool:
    """Whether a graph calls overloads of ATen, as programs of torch.export do."""
    return any(isinstance(node.target, torch._ops.OpOverload) for node in graph.graph.nodes)


@saboteur("export.same-outputs")
class DynamoSwapsOverloads(DynamoControl):
    """Subtractions are right where a model calls them, and swap their operands where an exported program does."""

    name = "dynamo_swaps_overloads"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        for node in graph.graph.nodes:
            if node.target is torch.ops.aten.sub.Tensor:
                node.args = node.args[::-1]
        graph.recompile()
        return super().lower(graph, example_inputs)


@saboteur("export.same-outputs", phases=("lower",))
class DynamoKnowsNoOverloads(DynamoControl):
    """The table of operators has the functions that models call, and not the overloads of exported programs."""

    name = "dynamo_knows_no_overloads"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        if exported(graph):
            raise KeyError("aten")
        return super().lower(graph, example_inputs)


@saboteur("export.dynamic-sizes", phases=("lower", "run"))
class DynamoSpecialisesPrograms(DynamoSpecialises):
    """The symbolic sizes of exported programs are asked for their values, which makes them constants."""

    name = "dynamo_specialises_programs"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        return super().lower(graph, example_inputs) if exported(graph) else DynamoControl.lower(self, graph, ())


@saboteur("export.twice")
class DynamoSharesPrograms(DynamoControl):
    """Exported programs of the same text share the weights of the first."""

    name = "dynamo_shares_programs"

    def __init__(self) -> None:
        self.known: dict[str, list[Any]] = {}

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        first = self.known.setdefault(graph.code, list(example_inputs)) if exported(graph) else example_inputs
        return lambda *arguments: graph.forward(*with_weights_of(first, arguments))


@saboteur("export.mutation")
class DynamoWritesToCopies(DynamoControl):
    """Exported programs write to copies of their inputs."""

    name = "dynamo_writes_to_copies"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        if not exported(graph):
            return super().lower(graph, example_inputs)
        return lambda *arguments: graph.forward(
            *(each.clone() if isinstance(each, torch.Tensor) else each for each in arguments)
        )


@saboteur("package.same-outputs")
class DynamoPackagesSwapped(DynamoControl):
    """A loaded package takes its last two arguments for one another."""

    name = "dynamo_packages_swapped"
    package_class = "SwapsArguments"


@saboteur("package.ready")
class DynamoPackagesSource(DynamoControl):
    """What is packaged is the graph, which is traced and compiled where the package is called."""

    name = "dynamo_packages_source"
    package_class = "CompilesAgain"


@saboteur("package.ready", phases=("load",))
class DynamoPackagesForLater(DynamoControl):
    """What is packaged is the graph, which is traced and compiled when the package is loaded."""

    name = "dynamo_packages_for_later"
    package_class = "CompilesWhenLoaded"


@saboteur("package.weights")
class DynamoPackagesKeepWeights(DynamoControl):
    """A package computes with the weights of the first model that it was called with."""

    name = "dynamo_packages_keep_weights"
    package_class = "KeepsWeights"


@saboteur("package.guards")
class DynamoPackagesCheckNothing(DynamoControl):
    """Where a package was loaded, no guard of any package is checked."""

    name = "dynamo_packages_check_nothing"
    package_class = "ChecksNothing"


@saboteur("package.refusal", phases=("save",))
class DynamoPackagesNothing(DynamoControl):
    """That its code cannot be saved is said by an error about something else."""

    name = "dynamo_packages_nothing"
    features = RUNS_IN_PYTORCH.without(features.packages, "Its code is in memory only.")

    def package(self, graph: torch.fx.GraphModule) -> Any:
        raise TypeError("'NoneType' object is not subscriptable")


@saboteur("package.refusal", phases=("save",))
class DynamoPackagesDespite(DynamoControl):
    """Declares that it has no packages, and saves one all the same."""

    name = "dynamo_packages_despite"
    features = RUNS_IN_PYTORCH.without(features.packages, "Nobody has tried it.")


@saboteur("cache.second-process")
class DynamoCachesWeights(DynamoControl):
    """A cache on disk is keyed by the text of the graph, and has the weights of who filled it."""

    name = "dynamo_caches_weights"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        key = hashlib.sha256(graph.code.encode()).hexdigest()
        path = Path(os.environ["TORCHINDUCTOR_CACHE_DIR"], f"{self.name}-{key}")
        if path.exists():
            first = torch.load(path, weights_only=False)
        else:
            first = [each if isinstance(each, torch.nn.Parameter) else None for each in example_inputs]
            path.parent.mkdir(parents=True, exist_ok=True)
            torch.save(first, path)
        return lambda *arguments: graph.forward(*with_weights_of(first, arguments))


class Remembers(DynamoControl):
    """A backend that keeps what it has compiled among PyTorch's cache artifacts, by the text of the graph."""

    found: ClassVar[dict[tuple[str, str], bytes]] = {}

    def load(self) -> None:
        from torch.compiler._cache import CacheArtifact, CacheArtifactFactory

        class Artifact(CacheArtifact):
            """What a former process has recorded."""

            @staticmethod
            def type(name: str = self.name) -> str:
                return name

            def populate_cache(self) -> None:
                Remembers.found[self.type(), self.key] = self.content

        if self.name not in CacheArtifactFactory._artifact_types:
            CacheArtifactFactory.register(Artifact)
        super().load()

    def remembered(self, graph: torch.fx.GraphModule, content: bytes) -> bytes | None:
        """What a former process kept for such a graph; where there was none, ``content`` is kept."""
        from torch.compiler._cache import CacheArtifactManager

        key = hashlib.sha256(graph.code.encode()).hexdigest()
        if (self.name, key) not in self.found:
            CacheArtifactManager.record_artifact(self.name, key, content)
        return self.found.get((self.name, key))


@saboteur("cache.artifacts")
class DynamoRoundsWhatIsCached(Remembers):
    """What was found among the cache artifacts is computed with fewer bits."""

    name = "dynamo_rounds_what_is_cached"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        if self.remembered(graph, b"compiled") is None:
            return super().lower(graph, example_inputs)
        return lambda *arguments: _rounded(graph.forward(*arguments))


@saboteur("cache.artifacts")
class DynamoKeepsWeightsInArtifacts(Remembers):
    """The cache artifacts have the weights of the model that was compiled first, for every model with such a graph."""

    name = "dynamo_keeps_weights_in_artifacts"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        buffer = io.BytesIO()
        torch.save([each if isinstance(each, torch.nn.Parameter) else None for each in example_inputs], buffer)
        kept = self.remembered(graph, buffer.getvalue())
        if kept is None:
            return super().lower(graph, example_inputs)
        first = torch.load(io.BytesIO(kept), weights_only=False)
        return lambda *arguments: graph.forward(*with_weights_of(first, arguments))


def _rounded(results: Any) -> Any:
    return tuple(each.bfloat16().to(each.dtype) if each.is_floating_point() else each for each in results)


SABOTEURS = saboteur.all()
