"""Where tests get certificates: a folder with a report, keys, and the command."""

from __future__ import annotations

import base64
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from conformance.cli import main
from support.made_reports import put

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
