"""Verification: every edit of a certificate or a report is found."""

from __future__ import annotations

import base64
import copy
import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from support.certificate_office import CELL, Office
from support.made_reports import made_report, put


def test_a_certificate_without_a_signature_is_checked_by_its_report(office: Office) -> None:
    assert office.certify()[0] == 0
    code, said, complained = office.verify()
    assert (code, complained) == (0, "")
    assert "signature: none" in said
    assert "The certificate holds: toy reaches level mobile." in said


def test_a_signature_that_was_asked_for_must_be_there(signing_office: Office) -> None:
    assert signing_office.certify()[0] == 0
    code, said, _ = signing_office.verify("--public-key", signing_office.public_key)
    assert code == 1
    assert "it is not signed, and a public key was given" in said


def test_a_signed_certificate_is_an_envelope_that_holds(signing_office: Office) -> None:
    envelope = json.loads(signing_office.certificate.read_text())
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    assert len(envelope["signatures"]) == 1
    code, said, complained = signing_office.verify("--public-key", signing_office.public_key)
    assert (code, complained) == (0, "")
    assert "signature: verified, by the key in key.pub.pem" in said
    assert "signature: by the key" in signing_office.verify()[1]


def test_openssl_agrees_with_the_signature(signing_office: Office) -> None:
    envelope = json.loads(signing_office.certificate.read_text())
    payload = base64.b64decode(envelope["payload"])
    signed, signature = signing_office.folder / "signed", signing_office.folder / "signature"
    kind = envelope["payloadType"].encode()
    signed.write_bytes(b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload))
    signature.write_bytes(base64.b64decode(envelope["signatures"][0]["sig"]))
    try:
        done = subprocess.run(
            [
                *("openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", signing_office.public_key),
                *("-in", signed, "-sigfile", signature),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        pytest.skip("there is no openssl here")
    assert done.returncode == 0, done.stdout + done.stderr


def test_another_key_does_not_verify(signing_office: Office) -> None:
    other = signing_office.folder / "other.pem"
    assert signing_office.run("certify", "--new-key", other)[0] == 0
    code, said, _ = signing_office.verify("--public-key", signing_office.folder / "other.pub.pem")
    assert code == 1
    assert "it is not signed with the key in other.pub.pem, or was changed since" in said


def test_the_id_of_a_key_is_a_hint_that_decides_nothing(signing_office: Office) -> None:
    envelope = json.loads(signing_office.certificate.read_text())
    envelope["signatures"][0]["keyid"] = "somebody else"
    signing_office.certificate.write_text(json.dumps(envelope))
    assert signing_office.verify("--public-key", signing_office.public_key)[0] == 0


def test_nothing_vouches_without_report_and_signature(signing_office: Office) -> None:
    signing_office.report.unlink()
    code, _, complained = signing_office.verify()
    assert code == 2
    assert "nothing vouches for certificate.json" in complained
    code, said, _ = signing_office.verify("--public-key", signing_office.public_key)
    assert code == 0
    assert "report: not checked" in said


def edits(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[str, Any]]:
    """For each place of a different form in a document, a copy of it with that place changed."""
    seen: set[tuple[Any, ...]] = set()
    places: list[tuple[tuple[Any, ...], Any]] = [((), value)]
    while places:
        path, found = places.pop()
        form = tuple("*" if isinstance(part, int) else part for part in path)
        if form in seen and form:
            continue
        seen.add(form)
        if isinstance(found, dict | list):
            items = found.items() if isinstance(found, dict) else enumerate(found[:1])
            places += [((*path, key), item) for key, item in items]
        if path:
            edited = copy.deepcopy(value)
            place = edited
            for part in path[:-1]:
                place = place[part]
            place[path[-1]] = _another(found)
            yield "/".join(map(str, path)), edited


def _another(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return f"{value}x"
        case None:
            return "no/no"
        case list():
            return [*value, *value[:1]] if value else ["x"]
        case _:
            return dict(list(value.items())[1:]) if value else {"x": "y"}


@pytest.mark.runs
def test_every_edit_of_a_report_is_found(signing_office: Office, whole: dict[str, Any]) -> None:
    tried = 0
    for path, edited in edits(whole):
        put(signing_office.report, edited)
        for options in ((), ("--public-key", signing_office.public_key)):
            code, said, _ = signing_office.verify(*options)
            assert code == 1, path
            assert "its digest differs" in said, path
        tried += 1
    assert tried > 200


def test_the_same_report_written_otherwise_is_another_file(signing_office: Office, whole: dict[str, Any]) -> None:
    signing_office.report.write_text(json.dumps(whole, sort_keys=True))
    code, said, _ = signing_office.verify("--public-key", signing_office.public_key)
    assert code == 1
    assert "report.json is not the file that was certified, or was changed since: its digest differs" in said


def test_every_edit_of_a_certificate_without_signature_is_found_by_the_report(office: Office) -> None:
    assert office.certify()[0] == 0
    tried = 0
    for path, edited in edits(office.statement()):
        office.certificate.write_text(json.dumps(edited))
        code, said, complained = office.verify("--report", office.report)
        if path.endswith("configuration/0/name"):  # the report may be called otherwise
            assert code == 0
        else:
            assert code in (1, 2), f"{path}: {said}{complained}"
        tried += 1
    assert tried > 25


def test_every_edit_of_a_signed_statement_breaks_the_signature(signing_office: Office) -> None:
    envelope = json.loads(signing_office.certificate.read_text())
    for path, edited in edits(signing_office.statement()):
        payload = base64.b64encode(json.dumps(edited).encode()).decode()
        signing_office.certificate.write_text(json.dumps(envelope | {"payload": payload}))
        code, _, _ = signing_office.verify("--public-key", signing_office.public_key)
        assert code in (1, 2), path


def test_a_report_whose_certificate_was_changed_with_it_still_has_to_reach_the_level(
    office: Office, whole: dict[str, Any]
) -> None:
    """Without a signature the cells are the only witness: what they say is worked out again."""
    assert office.certify()[0] == 0
    statement = office.statement()
    failing = put(office.report, made_report(verdicts={CELL: "FAIL"}))
    digest = subprocess.run(["sha256sum", failing], capture_output=True, text=True, check=True).stdout.split()[0]
    statement["predicate"]["configuration"][0]["digest"]["sha256"] = digest
    office.certificate.write_text(json.dumps(statement))
    code, said, _ = office.verify()
    assert code == 1
    assert "lowering.outputs: FAIL in 1 of" in said
