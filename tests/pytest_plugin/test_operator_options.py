"""``--conformance-operators``: which operators a name means."""

from __future__ import annotations

from conformance.pytest_plugin._operators import choose


def test_names_without_the_variant_mean_all_variants() -> None:
    known = ["add", "div.floor_rounding", "div.trunc_rounding", "divide"]
    assert choose(["all"], known) == tuple(known)
    assert choose(["div", "add"], known) == ("add", "div.floor_rounding", "div.trunc_rounding")
    assert choose(["div.trunc_rounding"], known) == ("div.trunc_rounding",)
