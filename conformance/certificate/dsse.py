"""Signatures: an envelope (DSSE) around a payload, signed with an Ed25519 key, by securesystemslib."""

from __future__ import annotations

import dataclasses
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema

from conformance._util.files import write_new
from conformance.report._json import ReportError, read_bytes

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
    from securesystemslib.dsse import Envelope

PAYLOAD_TYPE = "application/vnd.in-toto+json"
_LARGEST_KEY = 2**16
_TEXT = {"type": "string"}
_ENVELOPE = {
    "type": "object",
    "properties": {
        "payload": _TEXT,
        "payloadType": {"const": PAYLOAD_TYPE},
        "signatures": {
            "type": "array",
            "items": {"type": "object", "properties": {"keyid": _TEXT, "sig": _TEXT}, "required": ["sig"]},
            "minItems": 1,
            "maxItems": 16,
        },
    },
    "required": ["payload", "payloadType", "signatures"],
}
_NEW_KEY = "`conformance certify --new-key KEY.pem` makes one"


@dataclasses.dataclass(frozen=True)
class Signed:
    """A payload out of an envelope, with the ids of the keys that it says to be signed with. Nothing is verified."""

    payload: bytes
    keys: tuple[str, ...]
    _envelope: Envelope

    def is_signed_by(self, public_key: Path) -> bool:
        """Whether one of the signatures is of the key in a PEM file. Raises ReportError for a file that has none."""
        from securesystemslib.exceptions import UnverifiedSignatureError, VerificationError
        from securesystemslib.signer import SSlibKey

        key = _public_key(public_key)
        for signature in self._envelope.signatures.values():
            try:
                # The id in an envelope is a hint, and not signed: it is not what decides.
                SSlibKey.from_crypto(key, signature.keyid).verify_signature(signature, self._envelope.pae())
            except (UnverifiedSignatureError, VerificationError):
                continue
            return True
        return False


def sign(payload: bytes, private_key: Path) -> dict[str, Any]:
    """The envelope of a payload, signed with the key in a PEM file.

    Raises ReportError for a file that has no Ed25519 key, or one that is encrypted, and where nothing is installed that
    can sign.
    """
    _expect_installed()
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import CryptoSigner

    envelope = Envelope(payload, PAYLOAD_TYPE, {})
    envelope.sign(CryptoSigner(_private_key(private_key)))
    content: dict[str, Any] = envelope.to_dict()
    return content


def opened(envelope: dict[str, Any], where: str) -> Signed:
    """What is in an envelope. Raises ReportError for one of another form, and where nothing can read it."""
    _expect_installed()
    from securesystemslib.dsse import Envelope

    fault = next(jsonschema.Draft202012Validator(_ENVELOPE).iter_errors(envelope), None)
    if fault is not None:
        place = "/".join(str(part) for part in fault.absolute_path) or "the top level"
        raise ReportError(f"{where} is no signed certificate: at {place}: {fault.message:.300}")
    signatures = [{"keyid": each.get("keyid", ""), "sig": each["sig"]} for each in envelope["signatures"]]
    try:
        content = Envelope.from_dict({**envelope, "signatures": signatures})
    except ValueError as error:
        raise ReportError(f"{where} is no signed certificate: {error}") from error
    return Signed(content.payload, tuple(content.signatures), content)


def make_key(path: Path) -> Path:
    """Make a pair of keys: a private one in ``path``, for its owner's eyes; returns the path of the public one.

    Raises ReportError, and overwrites nothing, where one of the files is there already.
    """
    _expect_installed()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    try:
        public_path = path.with_name(f"{path.stem}.pub.pem")
        write_new(path, private, 0o600)
        try:
            write_new(public_path, public, 0o644)
        except BaseException:
            path.unlink()
            raise
    except FileExistsError as error:
        raise ReportError(
            f"{error.filename} is there already, and no key is overwritten: choose another name"
        ) from error
    except (OSError, ValueError) as error:
        raise ReportError(f"the key cannot be written to {path}: {getattr(error, 'strerror', error)}") from error
    return public_path


def _expect_installed() -> None:
    missing = [name for name in ("securesystemslib", "cryptography") if importlib.util.find_spec(name) is None]
    if missing:
        raise ReportError(
            f"signatures need {' and '.join(missing)}, not installed here: pip install 'torch-conformance[sign]'"
        )


def _private_key(path: Path) -> Ed25519PrivateKey:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    content = read_bytes(path, _LARGEST_KEY)
    try:
        key = load_pem_private_key(content, None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise ReportError(f"{path.name} holds no private key in PEM without a password: {_NEW_KEY}") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise ReportError(f"{path.name} holds a private key, but none of Ed25519: {_NEW_KEY}")
    return key


def _public_key(path: Path) -> Ed25519PublicKey:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    content = read_bytes(path, _LARGEST_KEY)
    try:
        key = load_pem_public_key(content)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise ReportError(f"{path.name} holds no public key in PEM") from error
    if not isinstance(key, Ed25519PublicKey):
        raise ReportError(f"{path.name} holds a public key, but none of Ed25519, with which certificates are signed")
    return key
