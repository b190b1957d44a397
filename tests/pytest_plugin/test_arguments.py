"""The arguments of a run, as a report publishes them."""

from __future__ import annotations

import pytest

from conformance.pytest_plugin._options import published_arguments


@pytest.mark.parametrize(
    ("given", "published"),
    [
        (["--conformance-target=ssh=me@host"], ["--conformance-target=ssh"]),
        (["--conformance-target", "ssh=me@host", "-x"], ["--conformance-target", "ssh", "-x"]),
        (
            ["--conformance-target=ssh=old@host", "--conformance-target", "ssh=me@host"],
            ["--conformance-target=<overridden>", "--conformance-target", "ssh"],
        ),
        (
            ["--conformance-target", "ssh=old@host", "--conformance-target=ssh=me@host"],
            ["--conformance-target", "<overridden>", "--conformance-target=ssh"],
        ),
        (["-o", "conformance_target=ssh=me@host"], ["-o", "conformance_target=<overridden>"]),
        (["-oconformance_target=ssh=me@host"], ["-oconformance_target=<overridden>"]),
        (
            ["--override-ini=conformance_target = ssh=me@host", "-v"],
            ["--override-ini=conformance_target=<overridden>", "-v"],
        ),
    ],
)
def test_no_argument_tells_an_address(given: list[str], published: list[str]) -> None:
    config = pytest.Config.fromdictargs({"conformance_target": "ssh=me@host"}, given)
    assert published_arguments(config) == tuple(published)
