"""What the program without Python says is text that Python can read."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from support.places import REPOSITORY

SOURCES = REPOSITORY / "conformance/toolchains/torchscript/csrc"
PROGRAM = """
#include "texts.h"
#include <iostream>
#include <iterator>
int main() {
  const std::string text(std::istreambuf_iterator<char>(std::cin), {});
  std::cout << native_target::legible(text);
}
"""


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler")
def test_bytes_that_are_no_text_become_legible(tmp_path: Path) -> None:
    (tmp_path / "main.cpp").write_text(PROGRAM)
    command = ["g++", "-std=c++20", "-Wall", "-Werror", f"-I{SOURCES}", "main.cpp", "-o", "program"]
    subprocess.run(command, cwd=tmp_path, check=True)

    def legible(data: bytes) -> bytes:
        return subprocess.run([tmp_path / "program"], input=data, stdout=subprocess.PIPE, check=True).stdout

    kept = "plain, é, ß, 語, 🙂, \x00, \uffff, \U0010ffff".encode()
    assert legible(kept) == kept
    assert legible(b"before \xf0 after") == "before \ufffd after".encode()
    generator = random.Random(0)
    for lead in (b"\xc0\x80", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf0\x80\x80\x80", b"\xf4\x90\x80\x80", b"\xff"):
        assert legible(lead).decode() == "\ufffd" * len(lead)
    for _ in range(20):
        damaged = bytes(generator.choice((0x41, generator.randrange(256))) for _ in range(2000))
        found = legible(damaged).decode()
        assert found.replace("\ufffd", "") == damaged.decode(errors="replace").replace("\ufffd", "")
