"""The typed model of a report: the schema is generated from it, and what is read is written again as it was."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support.example_reports import full_report
from support.generated_rows import generated
from support.made_reports import made_report, put
from support.places import REPOSITORY
from support.small_reports import cell, report_of

from conformance.report import ReportError, read_report
from conformance.report._packages import packages_of
from conformance.report._store import validate
from conformance.report.model import Report
from conformance.report.parts import as_json, read_part, replaced
from conformance.report.row_model import CellRow
from conformance.report.schema import SCHEMA_FILE, generated_schema, write_schema

SHIPPED = sorted((REPOSITORY / "reports").glob("*/report.json"))


def text(document: dict[str, Any]) -> str:
    """A document, where the order of fields matters."""
    return json.dumps(document, ensure_ascii=False)


def test_the_schema_that_ships_is_what_the_model_generates(tmp_path: Path) -> None:
    written = tmp_path / "schema.json"
    write_schema(written)
    assert SCHEMA_FILE.read_text(encoding="utf-8") == written.read_text(encoding="utf-8"), (
        "run python -m conformance.report.schema"
    )


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(generated_schema())


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.parent.name)
def test_a_report_is_written_as_it_was_read(path: Path) -> None:
    document = read_report(path)
    assert text(as_json(read_part(Report, document))) == text(document)


def test_what_a_later_version_adds_is_kept_in_its_place() -> None:
    document = full_report()
    document["cells"][0] = {"new": {"deep": [1]}, **dict(reversed(document["cells"][0].items()))}
    document["harness"]["contract"]["later"] = None
    document["target"] = {"spec": "ssh", "torch": "2.13"}
    assert text(as_json(read_part(Report, document))) == text(document)


def test_a_part_that_is_changed_keeps_what_is_not_known_of_it() -> None:
    document = full_report()["run"] | {"later": 1}
    run = read_part(Report, full_report() | {"run": document}).run
    assert as_json(replaced(run, complete=False)) == document | {"complete": False}


@pytest.mark.parametrize(
    "value", [None, True, -1, 1.0, 1.5, "", "PASS", [], [1], {}, {"run": "1"}, {"run": -0.5}], ids=repr
)
@pytest.mark.parametrize("field", sorted(CellRow.__struct_fields__))
def test_a_row_is_refused_as_the_schema_refuses_it(field: str, value: Any) -> None:
    """What the model says of rows at once, and the schema one by one, is the same."""
    report = report_of(cell("a"), cell("b", generated=generated(), notes=[]))
    report["cells"][1][field] = value
    (fault, *_) = (*jsonschema.Draft202012Validator(generated_schema()).iter_errors(report), None)
    if fault is None:
        validate(report, "it")
        return
    with pytest.raises(ReportError) as caught:
        validate(report, "it")
    assert f"at {'/'.join(map(str, fault.absolute_path))}: {fault.message}"[:200] in str(caught.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [("seed", 1e30), ("later\ud800", 1)],
    ids=["integer beyond 64 bits", "name that is no Unicode"],
)
def test_what_json_schema_accepts_and_no_model_holds_is_refused(tmp_path: Path, field: str, value: Any) -> None:
    report = made_report()
    report["run"][field] = value
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report), encoding="utf-8")
    with pytest.raises(ReportError, match="is not a torch-conformance report") as caught:
        read_report(path)
    str(caught.value).encode()


def test_an_integer_may_be_written_as_a_whole_number(tmp_path: Path) -> None:
    report = made_report()
    report["run"]["seed"] = 7.0
    assert read_report(put(tmp_path / "report.json", report))["run"]["seed"] == 7


def test_a_report_names_the_packages_of_the_backends_distribution() -> None:
    found = packages_of("pytest")
    assert found["pluggy"] == metadata.version("pluggy")
    assert "argcomplete" not in found, "of an extra"
    assert not {"torch", "torch-conformance"} & set(packages_of("torch-conformance-reference"))


def test_what_no_backend_brings_says_nothing_of_one() -> None:
    assert packages_of("torch") == packages_of("torch-conformance") == {}
    assert packages_of("") == packages_of("no-such-distribution") == {}
