"""Certificates: ``certify`` and ``verify``."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.cli._common import Commands, refuse, say, seed
from conformance.report import ReportError, printable, write_atomically

if TYPE_CHECKING:
    from conformance.certificate.statement import Certificate

_LEVELS = ("core", "mobile", "complete")
_CELLS_SHOWN = 20


def add(commands: Commands) -> None:
    """``certify`` and ``verify``."""
    certify = commands.add_parser(
        "certify", help="a certificate for a report that reaches a level (exit code 1: it does not)"
    )
    certify.add_argument("report", type=Path, nargs="?", metavar="REPORT", help="a report.json")
    certify.add_argument("--level", choices=_LEVELS, help="default: the level that the run was held to")
    certify.add_argument("--key", type=Path, metavar="KEY.pem", help="sign with this private key (Ed25519)")
    certify.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="default: certificate.json beside the report"
    )
    certify.add_argument(
        "--new-key", type=Path, metavar="KEY.pem", help="only make a key, and KEY.pub.pem, which others verify with"
    )
    certify.set_defaults(run=_certify)
    verify = commands.add_parser("verify", help="check a certificate (exit code 1: it does not hold)")
    verify.add_argument("certificate", type=Path, metavar="CERTIFICATE")
    verify.add_argument(
        "--report", type=Path, metavar="REPORT", help="the report (default: by its name, beside the certificate)"
    )
    verify.add_argument("--public-key", type=Path, metavar="PUB.pem", help="whose signature it must have")
    verify.add_argument(
        "--rerun", action="store_true", help="certify the backend that is installed here anew, and compare"
    )
    verify.add_argument(
        "--library", type=Path, metavar="PATH", help="with --rerun: the library of a backend without plugin"
    )
    verify.add_argument(
        "--seed",
        type=seed,
        metavar="N",
        help="with --rerun: the seed, another than the certificate's (default: a random one)",
    )
    verify.add_argument("-n", type=int, default=1, metavar="WORKERS", help="with --rerun: processes side by side")
    verify.set_defaults(run=_verify)


def _certify(options: argparse.Namespace) -> int:
    if (options.new_key is None) == (options.report is None):
        return refuse("certify takes a report, or --new-key KEY.pem alone")
    if options.new_key is not None:
        return _make_key(options.new_key)
    from conformance.certificate.statement import certify, load_report, text_of
    from conformance.contract import Level

    try:
        file = load_report(options.report)
        report = file.report
        output: Path = options.output or options.report.with_name("certificate.json")
        if output.exists() and os.path.samefile(output, options.report):
            return refuse(f"{output} is the report itself: choose another name with -o")
        level = Level(options.level) if options.level else report.certification.level
        statement, reasons = certify(file, level)
        name = printable(report.backend.name)
        if statement is None:
            say(f"No certificate: {name} does not reach level {level.value}.")
            for reason in reasons:
                say(f"  - {printable(reason)}")
            return 1
        write_atomically(output, text_of(statement, options.key))
    except ReportError as error:
        return refuse(str(error))
    except OSError as error:
        return refuse(f"{output} cannot be written: {error.strerror}")
    except UnicodeEncodeError as error:
        return refuse(f"{output} is not written: the report has a text that is no Unicode: {error}")
    version = printable(report.harness.contract.version)
    say(f"{name} reaches level {level.value} of contract {version}: worked out from its cells.")
    if not report.backend.distribution_hash:
        say("note: the certificate covers the libraries alone: the distribution is editable, or none is installed")
    say(f"certificate: {output} ({'signed' if options.key else 'not signed'})")
    return 0


def _make_key(path: Path) -> int:
    from conformance.certificate.dsse import make_key

    try:
        public = make_key(path)
    except ReportError as error:
        return refuse(str(error))
    say(f"private key, to sign with and to keep: {path}")
    say(f"public key, to publish: {public}")
    return 0


def _verify(options: argparse.Namespace) -> int:
    from conformance.certificate.statement import load_certificate
    from conformance.discovery.describing import SelectionError

    try:
        certificate = load_certificate(options.certificate)
        vouched, reasons = _check_signature(certificate, options.public_key)
        # What a signature does not hold for is not looked at further.
        if not reasons:
            checked, reasons = _check_report(certificate, options)
            if not (vouched or checked or options.rerun):
                return refuse(
                    f"nothing vouches for {options.certificate.name}: {certificate.report_name} is not beside it "
                    "(give it with --report), and no signature is verified (--public-key)"
                )
        if not reasons and options.rerun:
            if options.seed == certificate.seed:
                return refuse(f"--seed: the certificate was made from {options.seed}; a rerun takes another")
            reasons = _rerun(certificate, options)
    except (ReportError, SelectionError) as error:
        return refuse(str(error))
    name, level = printable(certificate.backend), certificate.level.value
    if reasons:
        say(f"The certificate that {name} reaches level {level} does not hold.")
        for reason in reasons:
            say(f"  - {printable(reason)}")
        return 1
    say(f"The certificate holds: {name} reaches level {level}.")
    return 0


def _check_signature(certificate: Certificate, public_key: Path | None) -> tuple[bool, tuple[str, ...]]:
    """Whether a signature was verified, and what is wrong with it."""
    signed = certificate.signed
    if signed is None:
        say("signature: none")
        return False, ("it is not signed, and a public key was given",) if public_key else ()
    keys = printable(", ".join(f"{key:.16}" for key in signed.keys))
    if public_key is None:
        say(f"signature: by the key {keys}, not verified: give the public key with --public-key")
        return False, ()
    if not signed.is_signed_by(public_key):
        say("signature: wrong")
        return False, (f"it is not signed with the key in {public_key.name}, or was changed since",)
    say(f"signature: verified, by the key in {public_key.name}")
    return True, ()


def _check_report(certificate: Certificate, options: argparse.Namespace) -> tuple[bool, tuple[str, ...]]:
    """Whether there was a report, and what is wrong with it."""
    from conformance.certificate.statement import check
    from conformance.report._json import read_bytes

    path: Path = options.report or options.certificate.with_name(certificate.report_name)
    if not (options.report or os.path.exists(path)):  # unlike Path.exists, false for a name that is too long
        say(f"report: not checked: {printable(path.name)} is not beside the certificate (give it with --report)")
        return False, ()
    reasons = check(certificate, read_bytes(path), path.name)
    if not reasons:
        say("report: the one that was certified, and the level is worked out anew from its cells")
    return True, reasons


def _rerun(certificate: Certificate, options: argparse.Namespace) -> tuple[str, ...]:
    from conformance.certificate.challenge import challenge

    def tell(line: str) -> None:
        say(f"rerun: {line}")

    answer = challenge(certificate, options.library, options.n, tell, options.seed)
    for remark in answer.remarks:
        say(f"note: {printable(remark)}")
    for cell in answer.cells[:_CELLS_SHOWN]:
        say(f"rerun: {printable(cell)}")
    if len(answer.cells) > _CELLS_SHOWN:
        say(f"rerun: and {len(answer.cells) - _CELLS_SHOWN} cells more")
    if not answer.reasons:
        say(f"rerun: level {certificate.level.value} was reached again")
    return answer.reasons
