"""Changing a file of expectations, so that everything else in it stays as its authors wrote it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomlkit
import tomlkit.exceptions
from tomlkit.items import AoT, Array, Item, Table

from conformance.expectations._file import HEADER, ExpectationsError, read_entries, read_text
from conformance.expectations._update import ENDING, WHERE, Update
from conformance.report import printable, write_atomically

_BEGINNING = "# Known failures: what each field means is told in docs/expectations.md of torch-conformance.\n"
#: The order of the fields in an entry that is written anew.
_ORDER = (
    *("clause", "case", "runtime", "host", "target", "verdict", "phase", "fingerprint"),
    *("reason", "issue", "owner", "since", "expires", "versions"),
)
#: An array that is longer is written on several lines, with so many names on each.
_LONGEST_LINE = 100
_NAMES_A_LINE = 6


@dataclasses.dataclass
class _Block:
    """An entry in its file: the comment right above it, its own lines, and what follows up to the next such comment."""

    lead: str
    body: str
    tail: str

    def parsed(self) -> tuple[tomlkit.TOMLDocument, Table]:
        """The entry as a document of its own. Raises ExpectationsError unless it is exactly one entry."""
        try:
            document = tomlkit.parse(self.body)
        except tomlkit.exceptions.ParseError as error:
            raise ExpectationsError(str(error)) from error
        entries = document.get("expect")
        if not isinstance(entries, AoT) or len(entries) != 1:
            raise ExpectationsError("an entry does not stand by itself")
        return document, entries[0]


class ExpectationsFile:
    """A file of expectations that a run may change; it need not exist yet.

    Raises ExpectationsError for one that cannot be read, or whose entries are not written as [[expect]] tables.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.parent.is_dir():
            raise ExpectationsError(f"the expectations {path} cannot be written: there is no folder {path.parent}")
        self._text = read_text(path) if path.exists() else ""
        self.entries = read_entries(self._text, str(path))
        self._beginning, self._blocks = _split(self._text)
        if not self._is_understood():
            raise ExpectationsError(
                f"the expectations {path} cannot be updated: only entries that are written as [[expect]] tables can "
                "be; an array of inline tables, or a text that has such a header in it, cannot"
            )

    def _is_understood(self) -> bool:
        try:
            alone = [block.parsed()[1].unwrap() for block in self._blocks]
        except ExpectationsError:
            return False
        together = tomlkit.parse(self._text).unwrap().get("expect", [])
        return not (together and not self._blocks) and alone == together

    def apply(self, update: Update) -> bool:
        """Write what a run taught; whether there was anything to write.

        Raises ExpectationsError, and writes nothing, when the file has changed since it was read or cannot be written.
        """
        text = self._updated(update)
        if text == self._text:
            return False
        if (read_text(self.path) if self.path.exists() else "") != self._text:
            raise ExpectationsError(
                f"the expectations {self.path} changed while the run went on, and are left as they are: run again"
            )
        read_entries(text, f"{self.path} as they would be written")
        try:
            write_atomically(self.path.resolve(), text)
        except OSError as error:
            raise ExpectationsError(f"the expectations {self.path} cannot be written: {error.strerror}") from error
        self._text = text
        return True

    def _updated(self, update: Update) -> str:
        parts = [self._beginning if self._text else _BEGINNING]
        for number, block in enumerate(self._blocks, start=1):
            entries = update.replaced.get(number)
            if entries is None:
                parts += [block.lead, block.body, block.tail]
            elif not entries:
                parts.append(block.tail.lstrip("\r\n") if "#" in block.tail else "")
            else:
                parts += [block.lead, *_rewritten(block, entries), block.tail]
        text = "".join(parts)
        if update.added:
            text = "\n".join([f"{text.rstrip()}\n".lstrip(), *map(_entry_text, update.added)])
        return text


def _split(text: str) -> tuple[str, list[_Block]]:
    starts = [found.start() for found in HEADER.finditer(text)]
    if not starts:
        return text, []
    chunks = [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    beginning, lead = _without_lead(text[: starts[0]])
    blocks = []
    for index, chunk in enumerate(chunks):
        rest, next_lead = _without_lead(chunk) if index + 1 < len(chunks) else (chunk, "")
        body, tail = _without_tail(rest)
        blocks.append(_Block(lead, body, tail))
        lead = next_lead
    return beginning, blocks


def _without_lead(text: str) -> tuple[str, str]:
    """A text, and the comment at its end that no empty line divides from what comes next."""
    lines = text.splitlines(keepends=True)
    count = len(lines)
    while count and lines[count - 1].lstrip().startswith("#"):
        count -= 1
    return "".join(lines[:count]), "".join(lines[count:])


def _without_tail(text: str) -> tuple[str, str]:
    """The lines of an entry with the comments that follow at once, and what comes from the first empty line on."""
    lines = text.splitlines(keepends=True)
    end = len(lines)
    while end and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    while end < len(lines) and lines[end].strip():
        end += 1
    return "".join(lines[:end]), "".join(lines[end:])


def _rewritten(block: _Block, entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """The entry with the first of the new ones' fields, and behind it the others, which share the rest of its own."""
    document, table = block.parsed()
    shared = {name: value for name, value in table.unwrap().items() if name not in (*WHERE, *ENDING)}
    first, *others = entries
    for name in (*WHERE, *ENDING):
        value = first.get(name)
        if _unwrapped(table.get(name)) == value:
            continue
        if value not in (None, "", "*"):
            _set(table, name, value)
        elif name in WHERE:
            table.pop(name, None)
    own = tomlkit.dumps(document)
    return [own, *(f"\n{_entry_text(shared | dict(other))}" for other in others)]


def _unwrapped(item: Any) -> Any:
    return item.unwrap() if isinstance(item, Item) else item


def _set(table: Table, name: str, value: Any) -> None:
    """Set a field, and keep the comment behind it."""
    if name not in table:
        table.add(name, _item(value))
        return
    former = table[name].trivia
    table[name] = _item(value)
    table[name].trivia.comment_ws, table[name].trivia.comment = former.comment_ws, former.comment


def _entry_text(fields: Mapping[str, Any]) -> str:
    table = tomlkit.table()
    for name in _ORDER:
        if fields.get(name) not in (None, "", "*", {}):
            table.add(name, _item(fields[name]))
    entries = tomlkit.aot()
    entries.append(table)
    return tomlkit.dumps({"expect": entries}).strip() + "\n"


def _item(value: Any) -> Item:
    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        table.update(value)
        return table
    if isinstance(value, str):
        return tomlkit.string(printable(value))
    if isinstance(value, list | tuple):
        return _array(value)
    item: Item = tomlkit.item(value)
    return item


def _array(names: Sequence[str]) -> Array:
    """An array of names: on one line, or on as few as it takes."""
    array = tomlkit.array()
    array.extend(names)
    if len(array.as_string()) <= _LONGEST_LINE:
        return array
    array = tomlkit.array()
    for start in range(0, len(names), _NAMES_A_LINE):
        array.add_line(*names[start : start + _NAMES_A_LINE])
    array.add_line(indent="")
    return array
