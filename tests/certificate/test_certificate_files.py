"""Keys, the files that certificates lie in, and the digest of a distribution."""

from __future__ import annotations

import importlib.util
import os
import stat
import subprocess
from pathlib import Path

import pytest
from support.certificate_office import Office

from conformance.discovery.distribution import distribution_hash

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
