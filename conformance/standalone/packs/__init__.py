"""Targets that cannot be reached: what they are to be asked goes there in a folder, and their answers come back in one.

``_recordings`` records what the devices of a cell are asked, and replays it; ``_write`` makes a pack, ``_runner`` is
the script that answers it on the target, and ``_read`` judges the answers by the very clauses of the suites.
"""

from __future__ import annotations

from conformance.standalone.packs._read import unpacked_report
from conformance.standalone.packs._write import PackError, write_pack

__all__ = ["PackError", "unpacked_report", "write_pack"]
