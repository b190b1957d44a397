"""Certificates: what they say, what is refused one, and that every edit of a certificate or a report is found."""

from __future__ import annotations

import base64
import copy
import dataclasses
import importlib.util
import json
import os
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from made_reports import described, made_report, put

from conformance import challenge as challenges
from conformance.catalogue import Description
from conformance.cli import main
from conformance.contract import Level, levels_of
from conformance.devices import Limits, ZygotePool
from conformance.distribution import distribution_hash
from conformance.plan import digest_of_ids
from conformance.registry import Source
from conformance.selection import select

CELL = "lowering.outputs[add-full-yes/yes]"


@dataclasses.dataclass
class Office:
    """A folder with a report that reaches level mobile, a pair of keys, and the command."""

    folder: Path
    capsys: pytest.CaptureFixture[str]

    @property
    def report(self) -> Path:
        return self.folder / "report.json"

    @property
    def certificate(self) -> Path:
        return self.folder / "certificate.json"

    @property
    def key(self) -> Path:
        return self.folder / "key.pem"

    @property
    def public_key(self) -> Path:
        return self.folder / "key.pub.pem"

    def run(self, *arguments: object) -> tuple[int, str, str]:
        """The exit code, what was said, and what was complained about."""
        code = main([str(each) for each in arguments])
        said = self.capsys.readouterr()
        return code, said.out, said.err

    def certify(self, report: dict[str, Any] | None = None, *options: object) -> tuple[int, str, str]:
        """Certify a report, written first, for level mobile."""
        if report is not None:
            put(self.report, report)
        return self.run("certify", self.report, "--level", "mobile", *options)

    def verify(self, *options: object) -> tuple[int, str, str]:
        """Verify the certificate."""
        return self.run("verify", self.certificate, *options)

    def statement(self) -> dict[str, Any]:
        """What the certificate says, signed or not."""
        content: dict[str, Any] = json.loads(self.certificate.read_bytes())
        return json.loads(base64.b64decode(content["payload"])) if "payload" in content else content


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    """A report that reaches level mobile. Not to be changed."""
    return made_report()


@pytest.fixture
def office(tmp_path: Path, capsys: pytest.CaptureFixture[str], whole: dict[str, Any]) -> Office:
    """One with the report."""
    put(tmp_path / "report.json", whole)
    return Office(tmp_path, capsys)


@pytest.fixture
def signing_office(office: Office) -> Office:
    """One with a signed certificate too."""
    assert office.run("certify", "--new-key", office.key)[0] == 0
    code, said, complained = office.certify(None, "--key", office.key)
    assert code == 0, said + complained
    return office


def test_a_certificate_says_what_was_tested_and_which_clauses_hold(office: Office, whole: dict[str, Any]) -> None:
    code, said, complained = office.certify()
    assert (code, complained) == (0, "")
    assert "toy reaches level mobile of contract 1" in said
    statement = office.statement()
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    assert statement["subject"] == [
        {"name": "libtoy.so", "digest": {"sha256": "a" * 64}},
        {"name": "toys", "uri": "pkg:pypi/toys@1.0", "digest": {"dirHash": "b" * 64}},
    ]
    predicate = statement["predicate"]
    assert predicate["result"] == "PASSED"
    assert predicate["failedTests"] == predicate["warnedTests"] == []
    owed = [each["id"] for each in whole["clauses"] if each["level"] in ("core", "mobile")]
    assert sorted(predicate["passedTests"]) == sorted(owed)
    report, contract, plan = predicate["configuration"]
    digest = subprocess.run(["sha256sum", office.report], capture_output=True, text=True, check=True).stdout.split()[0]
    assert report["digest"]["sha256"] == digest
    assert report["annotations"]["seed"] == 7
    assert contract["digest"]["sha256"] == whole["harness"]["contract"]["sha256"]
    assert contract["annotations"]["level"] == "mobile"
    assert plan["annotations"]["cells"] == len(whole["cells"])


def test_a_clause_that_nothing_shows_is_a_warning_and_one_that_says_nothing_is_neither(
    office: Office, whole: dict[str, Any]
) -> None:
    of = {row["id"]: row["clause"] for row in whole["cells"]}
    shown = {cell: "NOT_EXERCISED" for cell, clause in of.items() if clause == "lowering.twice"}
    silent = {cell: "NOT_APPLICABLE" for cell, clause in of.items() if clause == "lowering.deterministic"}
    assert shown
    assert silent
    assert office.certify(made_report(verdicts=shown | silent))[0] == 0
    predicate = office.statement()["predicate"]
    assert predicate["result"] == "WARNED"
    assert predicate["warnedTests"] == ["lowering.twice"]
    assert not {"lowering.twice", "lowering.deterministic"} & set(predicate["passedTests"])
    assert office.verify()[0] == 0


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        ("FAIL", "lowering.outputs: FAIL in 1 of "),
        ("CRASH", "lowering.outputs: CRASH in 1 of "),
        ("XFAIL", "known failures (XFAIL) excuse a run, and never certify a backend"),
        ("XPASS", "lowering.outputs: XPASS in 1 of "),
        ("FLAKY", "lowering.outputs: FLAKY in 1 of "),
        ("HARNESS_ERROR", "lowering.outputs: HARNESS_ERROR in 1 of "),
        ("LOST", "1 of 536 planned cells never came back"),
        ("UNSUPPORTED", "have a verdict that what the backend declares rules out"),
    ],
)
def test_what_does_not_reach_the_level_gets_none(office: Office, verdict: str, reason: str) -> None:
    report = made_report(verdicts={CELL: verdict})
    reason = reason.replace("536", str(len(report["cells"])))
    office.certificate.write_text("as it was")
    code, said, complained = office.certify(report)
    assert (code, complained) == (1, "")
    assert "No certificate: toy does not reach level mobile." in said
    assert reason in said
    assert office.certificate.read_text() == "as it was"


def test_a_state_that_was_not_tried_stands_in_the_way(office: Office) -> None:
    states = described().states | {"no/no": None}
    code, said, _ = office.certify(made_report(described(states=states)))
    assert code == 1
    assert "availability no/no on the host was not exercised" in said
    assert office.run("certify", office.report, "--level", "core")[0] == 0


def test_a_level_that_no_clause_has_is_not_reached(office: Office) -> None:
    compiler = described(toolchain="dynamo", missing_features={})
    assert Level.MOBILE not in levels_of("dynamo")
    code, said, _ = office.certify(made_report(compiler))
    assert code == 1
    assert "no clause of level mobile took part" in said
    assert office.run("certify", office.report, "--level", "core")[0] == 0


def test_nothing_is_certified_that_nothing_identifies(office: Office) -> None:
    nameless = described(files=(), distribution_hash=None, source=Source("toy"))
    code, said, _ = office.certify(made_report(nameless))
    assert code == 1
    assert "nothing tells which backend was tested" in said


def reassembled(report: dict[str, Any]) -> dict[str, Any]:
    """The report that says of its own, changed cells what is so."""
    from conformance.contract import Level
    from conformance.report import assemble

    level = Level(report["certification"]["level"])
    return assemble(report, report["clauses"], report["cells"], report["plan"]["deselected"], level)


def without_a_cell(report: dict[str, Any]) -> None:
    report["cells"] = [row for row in report["cells"] if row["id"] != CELL]


def without_a_clause(report: dict[str, Any]) -> None:
    report["cells"] = [row for row in report["cells"] if row["clause"] != "lowering.outputs"]
    report["clauses"] = [each for each in report["clauses"] if each["id"] != "lowering.outputs"]


def with_a_clause_of_its_own(report: dict[str, Any]) -> None:
    clause, row = report["clauses"][0], report["cells"][0]
    report["clauses"].append(clause | {"id": "own.clause"})
    report["cells"].append(row | {"clause": "own.clause", "id": "own.clause" + row["id"].removeprefix(row["clause"])})


def with_a_gentler_statement(report: dict[str, Any]) -> None:
    report["clauses"][0]["statement"] = "It does something."


def with_a_lower_level(report: dict[str, Any]) -> None:
    report["clauses"][0]["level"] = "reported"
    for row in report["cells"]:
        if row["clause"] == report["clauses"][0]["id"]:
            row["level"] = "reported"


def with_a_case_of_its_own(report: dict[str, Any]) -> None:
    row = next(row for row in report["cells"] if row["id"] == CELL)
    row |= {"case": "easy", "id": CELL.replace("add", "easy")}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (without_a_cell, f"cells {CELL} are not in the report"),
        (without_a_clause, "clauses lowering.outputs are not in the report"),
        (with_a_clause_of_its_own, "clauses own.clause are not of the contract"),
        (with_a_gentler_statement, "are stated otherwise in the contract"),
        (with_a_lower_level, "are stated otherwise in the contract"),
        (with_a_case_of_its_own, "are not of the contract's plan"),
    ],
)
def test_a_plan_that_is_not_the_contracts_gets_none(
    office: Office, whole: dict[str, Any], change: Callable[[dict[str, Any]], None], reason: str
) -> None:
    report = copy.deepcopy(whole)
    change(report)
    code, said, _ = office.certify(reassembled(report))
    assert code == 1
    assert reason in said


def test_a_report_of_another_contract_is_taken_at_its_word_and_that_is_said(
    office: Office, whole: dict[str, Any]
) -> None:
    report = copy.deepcopy(whole)
    report["harness"]["contract"]["sha256"] = "0" * 64
    code, said, _ = office.certify(report)
    assert code == 0
    assert "note: the plan is not checked: the report is of contract 1 (000000000000), and here is" in said
    assert office.statement()["predicate"]["configuration"][1]["digest"]["sha256"] == "0" * 64


def changed_at(report: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy with another value in one place."""
    report = copy.deepcopy(report)
    *parents, last = path.split("/")
    place: Any = report
    for part in parents:
        place = place[int(part) if isinstance(place, list) else part]
    place[int(last) if isinstance(place, list) else last] = value
    return report


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ("run/complete", False, "run.complete"),
        ("plan/sha256", "0" * 64, "plan.sha256"),
        ("plan/deselected", 3, "certification.achieved"),
        ("summary/suites/lowering/PASS", 1, "summary.suites"),
        ("summary/clauses", {}, "summary.clauses"),
        ("availability/host", [], "availability.host"),
        ("certification/achieved", None, "certification.achieved"),
        ("certification/missing", ["something"], "certification.missing"),
        ("certification/excused", True, "certification.excused"),
        ("cells/0/level", "reported", "level of the cell"),
        ("cells/0/suite", "other", "suite of the cell"),
        ("cells/0/case", "other", "by its own columns"),
        ("cells/0/clause", "other", "is not among clauses"),
        ("cells/200/verdict", "FAIL", "summary.verdicts"),
    ],
)
def test_a_field_that_the_cells_do_not_bear_out_is_named(
    office: Office, whole: dict[str, Any], path: str, value: Any, field: str
) -> None:
    code, said, complained = office.certify(changed_at(whole, path, value))
    assert (code, said) == (2, "")
    assert "report.json contradicts itself" in complained
    assert field in complained
    assert len(complained.splitlines()) == 1
    assert not office.certificate.exists()


def test_two_cells_of_one_name_are_a_contradiction(office: Office, whole: dict[str, Any]) -> None:
    report = copy.deepcopy(whole)
    report["cells"].append(report["cells"][0])
    code, _, complained = office.certify(reassembled(report))
    assert code == 2
    assert "stands there twice" in complained


# Verification.


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
    places = [((), value)]
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


# Keys and files.


def test_a_new_key_is_for_its_owner_and_overwrites_nothing(office: Office) -> None:
    assert office.run("certify", "--new-key", office.key)[0] == 0
    assert stat.S_IMODE(office.key.stat().st_mode) == 0o600
    before = office.key.read_bytes(), office.public_key.read_bytes()
    code, _, complained = office.run("certify", "--new-key", office.key)
    assert code == 2
    assert "is there already, and no key is overwritten" in complained
    assert (office.key.read_bytes(), office.public_key.read_bytes()) == before
    office.key.unlink()
    code, _, complained = office.run("certify", "--new-key", office.key)
    assert code == 2
    assert "key.pub.pem is there already" in complained
    assert not office.key.exists()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "holds no private key in PEM"),
        (b"\xff\x00", "holds no private key in PEM"),
        (b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "holds no private key in PEM"),
        (b"x" * 2**17, "is larger than 64 KiB"),
    ],
)
def test_what_is_no_key_is_refused(office: Office, content: bytes, complaint: str) -> None:
    office.key.write_bytes(content)
    code, _, complained = office.certify(None, "--key", office.key)
    assert code == 2
    assert complaint in complained
    assert not office.certificate.exists()


def test_keys_of_another_kind_are_refused(signing_office: Office) -> None:
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    key = generate_private_key(SECP256R1())
    other = signing_office.folder / "ec.pem"
    other.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    assert "none of Ed25519" in signing_office.certify(None, "--key", other)[2]
    other.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")))
    assert "without a password" in signing_office.certify(None, "--key", other)[2]
    other.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    assert "none of Ed25519" in signing_office.verify("--public-key", other)[2]
    other.write_bytes(signing_office.key.read_bytes())
    assert "holds no public key in PEM" in signing_office.verify("--public-key", other)[2]


def test_signing_without_the_libraries_says_what_to_install(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "securesystemslib" else found(name))
    code, _, complained = office.run("certify", "--new-key", office.key)
    assert code == 2
    assert "signatures need securesystemslib, not installed here: pip install 'torch-conformance[sign]'" in complained
    assert office.certify()[0] == 0


def test_the_report_is_not_overwritten_by_its_certificate(office: Office) -> None:
    before = office.report.read_bytes()
    code, _, complained = office.certify(None, "-o", office.report)
    assert code == 2
    assert "is the report itself" in complained
    assert office.report.read_bytes() == before


@pytest.mark.parametrize("where", ["missing/certificate.json", "pipe", "."])
def test_a_certificate_that_cannot_be_written_is_an_error(office: Office, where: str) -> None:
    os.mkfifo(office.folder / "pipe")  # as /dev/null, which whoever may write to /dev must not replace by a file
    code, _, complained = office.certify(None, "-o", office.folder / where)
    assert code == 2
    assert "cannot be written" in complained
    assert sorted(os.listdir(office.folder)) == ["pipe", "report.json"]
    assert (office.folder / "pipe").is_fifo()


# The distribution.


def test_the_digest_of_a_distribution_is_of_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "toys-1.0.dist-info"
    installed.mkdir()
    (tmp_path / "toys.py").write_text("one")
    (tmp_path / "toys.pyc").write_text("compiled")
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: toys\nVersion: 1.0\n")
    (installed / "INSTALLER").write_text("pip")
    (installed / "RECORD").write_text(
        "toys.py,sha256=x,3\ntoys.pyc,sha256=x,8\n../bin/toys,sha256=x,3\n"
        "toys-1.0.dist-info/METADATA,sha256=x,1\ntoys-1.0.dist-info/INSTALLER,sha256=x,1\ntoys-1.0.dist-info/RECORD,,\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    command = "sha256sum toys-1.0.dist-info/METADATA toys.py | sha256sum"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=True)
    before = distribution_hash("toys")
    assert before == done.stdout.split()[0]
    (installed / "INSTALLER").write_text("another")
    (tmp_path / "toys.pyc").unlink()
    assert distribution_hash("toys") == before
    (tmp_path / "toys.py").write_text("two")
    changed = distribution_hash("toys")
    (tmp_path / "toys.py").unlink()
    assert len({before, changed, distribution_hash("toys")}) == 3
    (installed / "direct_url.json").write_text('{"url": "file:///x", "dir_info": {"editable": true}}')
    assert distribution_hash("toys") is None
    assert distribution_hash("no-such-distribution") is None
    assert distribution_hash("") is None


# The challenge.


def described_as_installed(name: str) -> Description:
    """What a run would say of a backend that is installed."""
    pool = ZygotePool(Limits())
    try:
        description = select([name], None, pool)[0].description
    finally:
        pool.close()
    assert description is not None
    return description


@pytest.mark.slow
def test_a_challenge_runs_the_contract_anew(office: Office) -> None:
    """The slow one: the reference backend is really certified, from a new seed."""
    assert office.certify(made_report(described_as_installed("reference")))[0] == 0
    code, said, complained = office.verify("--rerun", "-n", 2)
    assert code == 0, said + complained
    assert "running the contract anew, with the seed" in said
    assert "rerun: level mobile was reached again" in said
    assert sorted(os.listdir(office.folder)) == ["certificate.json", "report.json"]


def test_a_challenge_of_another_library_is_over_before_it_runs(office: Office) -> None:
    installed = described_as_installed("reference")
    other = [{**each, "sha256": "0" * 64} for each in installed.files]
    assert office.certify(made_report(dataclasses.replace(installed, files=tuple(other))))[0] == 0
    code, said, _ = office.verify("--rerun")
    assert code == 1
    assert "is another one here than was certified: its digest differs" in said
    assert "running" not in said


def test_a_challenge_of_a_backend_that_is_not_here_is_bad_input(office: Office) -> None:
    assert office.certify()[0] == 0
    code, _, complained = office.verify("--rerun")
    assert code == 2
    assert "there is no backend named 'toy'" in complained


def staged(monkeypatch: pytest.MonkeyPatch, rerun: dict[str, Any] | None, output: str = "") -> None:
    """The backend is here, and a new run of it comes to this report, or to none."""
    installed = made_report()["backend"]

    def run(certificate: Any, library: Any, workers: int, seed: int, folder: Path) -> str:
        if rerun is not None:
            (folder / "toy").mkdir()
            put(folder / "toy" / "report.json", rerun)
        return output

    monkeypatch.setattr(challenges, "_installed", lambda certificate, library: installed)
    monkeypatch.setattr(challenges, "_run", run)


def test_a_challenge_that_is_lost_names_the_cells(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    assert office.certify()[0] == 0
    staged(monkeypatch, made_report(verdicts={CELL: "CRASH"}))
    code, said, _ = office.verify("--rerun")
    assert code == 1
    assert f"rerun: {CELL}: CRASH in run: it went wrong" in said
    assert "The certificate that toy reaches level mobile does not hold." in said
    assert "  - lowering.outputs: CRASH in 1 of " in said


def test_a_challenge_notices_a_backend_that_changed_while_it_ran(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert office.certify()[0] == 0
    staged(monkeypatch, made_report(described(distribution_hash="c" * 64)))
    code, said, _ = office.verify("--rerun")
    assert code == 1
    assert "toys is another one here than was certified" in said


def test_a_challenge_without_a_report_is_lost(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    assert office.certify()[0] == 0
    staged(monkeypatch, None, "ERROR: something\nthe last line")
    code, said, _ = office.verify("--rerun")
    assert code == 1
    assert "the run came to no report: the last line" in said


def test_the_digest_of_the_plan_is_that_of_the_cells(whole: dict[str, Any]) -> None:
    assert whole["plan"]["sha256"] == digest_of_ids(row["id"] for row in whole["cells"])
