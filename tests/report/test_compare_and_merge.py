"""Reports held against each other, and joined: each kind of change, each refusal, and texts that mean harm."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.project import Run
from support.small_reports import cell, report_of

from conformance.api.verdicts import Verdict
from conformance.cli import main
from conformance.report import read_report
from conformance.report.compare.changes import Change, Ending, change_of
from conformance.report.view import view_of
from conformance.run.plan import LEFT_OUT, digest_of_ids

HOSTILE = "a|b `c`\n<script>x</script>\x1b[31m [l](javascript:1) \ud800 **d** \u202e"


def behaviour(**observed: str) -> dict[str, Any]:
    """What a cell of the behaviour table has besides."""
    return {"behaviour": {"expected": {"run": "ok"}, "observed": observed}}


class Desk:
    """A folder with reports, and the command run on them."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def put(self, name: str, content: dict[str, Any] | str) -> str:
        """A file, from a report or from a text."""
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return str(path)

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """The exit code, what was said, and what was complained about."""
        code = main(arguments)
        said = self._capsys.readouterr()
        return code, said.out, said.err

    def compare(self, *reports: dict[str, Any], options: tuple[str, ...] = ()) -> tuple[int, str, str]:
        """Compare reports that are written first."""
        return self.run("compare", *(self.put(f"{n}.json", each) for n, each in enumerate(reports)), *options)

    def merge(self, *reports: dict[str, Any]) -> tuple[int, str, str]:
        """Merge reports that are written first, into ``self.merged``."""
        return self.run(
            "merge", *(self.put(f"{n}.json", each) for n, each in enumerate(reports)), "-o", str(self.merged)
        )

    @property
    def merged(self) -> Path:
        """Where ``merge`` writes."""
        return self.folder / "merged.json"


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Desk:
    """An empty one, 80 columns wide."""
    monkeypatch.setenv("COLUMNS", "80")
    return Desk(tmp_path, capsys)


def ending(verdict: str, phase: str = "", message: str = "") -> Ending:
    """How a cell ended."""
    return Ending(Verdict(verdict), phase, message)


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        (ending("PASS"), ending("PASS"), None),
        (ending("PASS"), ending("FAIL"), Change.REGRESSED),
        (ending("UNSUPPORTED"), ending("CRASH"), Change.REGRESSED),
        (ending("NOT_APPLICABLE"), ending("TIMEOUT"), Change.REGRESSED),
        (ending("NOT_EXERCISED"), ending("LOST"), Change.REGRESSED),
        (ending("XFAIL"), ending("XFAIL_MISMATCH"), Change.REGRESSED),
        (ending("PASS"), ending("FLAKY"), Change.REGRESSED),
        (ending("PASS"), ending("HARNESS_ERROR"), Change.REGRESSED),
        (ending("FAIL"), ending("PASS"), Change.FIXED),
        (ending("LOST"), ending("PASS"), Change.FIXED),
        (ending("FAIL"), ending("XPASS"), Change.FIXED),
        (ending("FAIL"), ending("XFAIL"), Change.OTHER),
        (ending("FAIL"), ending("UNSUPPORTED"), Change.OTHER),
        (ending("FAIL"), ending("LOST"), Change.OTHER),
        (ending("LOST"), ending("LOST"), None),
        (ending("PASS"), ending("LOST", "", LEFT_OUT), Change.OTHER),
        (ending("LOST", "", LEFT_OUT), ending("PASS"), Change.OTHER),
        (ending("LOST", "", LEFT_OUT), ending("LOST"), None),
        (ending("XFAIL"), ending("XPASS"), Change.OTHER),
        (ending("PASS"), ending("NOT_EXERCISED"), Change.OTHER),
        (ending("FAIL", "run"), ending("CRASH", "run"), Change.DIFFERENT_FAILURE),
        (ending("FAIL", "run"), ending("FAIL", "load"), Change.DIFFERENT_FAILURE),
        (ending("FAIL", "run", "no"), ending("FAIL", "run", "never"), Change.DIFFERENT_FAILURE),
        (ending("FAIL", "run", "float32"), ending("FAIL", "run", "float64"), Change.DIFFERENT_FAILURE),
        (ending("CRASH", "run", "at 0x7f2a"), ending("CRASH", "run", "at 0xDEAD01"), None),
        (ending("FAIL", "run", "found -1.5e-06 at [0]"), ending("FAIL", "run", "found 57116 at [2]"), None),
        (None, ending("FAIL"), Change.NEW),
        (ending("FAIL"), None, Change.GONE),
    ],
)
def test_what_became_of_a_cell(before: Ending | None, after: Ending | None, change: Change | None) -> None:
    assert change_of(before, after) is change


def test_a_regression_is_an_exit_code(desk: Desk) -> None:
    good, bad = report_of(cell("add")), report_of(cell("add", "FAIL", "run", "wrong"))
    assert desk.compare(good, good)[0] == 0
    code, said, _ = desk.compare(good, bad)
    assert code == 1
    assert "A to B: 1 regressed, 0 unchanged" in said
    assert "FAIL in run: wrong" in said
    code, said, _ = desk.compare(bad, good)
    assert code == 0
    assert "1 fixed" in said
    code, said, _ = desk.compare(good, good, bad)
    assert code == 1
    assert "A to B: 0 regressed, 1 unchanged" in said
    assert "A to C: 1 regressed" in said


def test_every_kind_is_told_within_the_width(desk: Desk) -> None:
    before = [cell("kept"), cell("worse"), cell("better", "FAIL", "run"), cell("otherwise", "FAIL", "run")]
    before += [cell("excused", "FAIL", "run"), cell("gone")]
    after = [cell("kept"), cell("worse", "CRASH"), cell("better"), cell("otherwise", "TIMEOUT", "load")]
    after += [cell("excused", "XFAIL"), cell("new", message="word " * 90)]
    _, said, _ = desk.compare(report_of(*before), report_of(*after))
    for told in ("1 regressed", "1 fixed", "1 different failure", "1 other change of verdict", "1 new", "1 gone"):
        assert told in " ".join(said.split())
    assert max(map(len, said.splitlines())) <= 80


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"run__seed": 7}, "seed"),
        ({"harness__contract__version": "2"}, "version of the contract"),
        ({"harness__contract__sha256": "1" * 64}, "digest of the contract"),
        ({"harness__version": "9.9"}, "version of the harness"),
        ({"environment__torch": "2.14.0"}, "torch"),
        ({"backend__name": "other"}, "two different backends"),
        ({"backend__files": []}, "files of the backend"),
        ({"backend__features": {"missing": {"loops": "no"}}}, "features declared missing"),
    ],
)
def test_what_differs_about_the_runs_is_told_first(desk: Desk, changed: dict[str, Any], told: str) -> None:
    code, said, _ = desk.compare(report_of(cell("add")), report_of(cell("add"), **changed))
    assert code == 0
    assert told in said[: said.index("A to B: 0 regressed")]


def test_what_is_not_whole_is_told_first(desk: Desk) -> None:
    part = report_of(cell("add"), cell("sub", "LOST"), deselected=3)
    _, said, _ = desk.compare(part, report_of(cell("add")))
    top = said[: said.index("A to B:")]
    assert "A: incomplete: 1 of 2 planned cells never came back" in top
    assert "A: 3 cells of the contract were not selected" in top
    assert "B: incomplete" not in top


def test_behaviour_stands_side_by_side(desk: Desk) -> None:
    one = report_of(cell("same", **behaviour(run="ok")), cell("moved", **behaviour(run="ok")))
    two = report_of(cell("same", **behaviour(run="ok")), cell("moved", **behaviour(run="refused")))
    without = report_of(cell("same", **behaviour(run="ok")), cell("moved", "NOT_EXERCISED"))
    _, said, _ = desk.compare(one, two, without)
    assert "Behaviour observed: toy.works, moved" in said
    row = next(line for line in said.splitlines() if line.startswith("yes/yes"))
    seen = [part.strip() for part in row.split("  ") if part.strip()]
    assert seen == ["yes/yes", "-", "full", "run ok", "run refused", "NOT_EXERCISED"]
    assert "toy.works, same" not in said
    _, said, _ = desk.compare(one, two, without, one, options=("--all",))
    assert "toy.works, same" in said
    assert max(map(len, said.splitlines())) <= 80


def test_hostile_text_is_shown_and_not_obeyed(desk: Desk) -> None:
    before = report_of(cell("add"))
    after = report_of(cell("add", "FAIL", HOSTILE, HOSTILE), cell(HOSTILE, **behaviour(run=HOSTILE)))
    _, plain, _ = desk.compare(before, after)
    assert "\x1b" not in plain
    assert "\\u202e" in plain
    assert "\u202e" not in plain
    code, marked, _ = desk.compare(before, after, options=("--format", "markdown"))
    assert code == 1
    assert "<script>" not in marked
    assert "\\*\\*d" in marked
    assert "&#96;c&#96;" in marked
    assert "\\[l\\](" in marked
    tables = [line for line in marked.splitlines() if "script" in line and line.startswith("|")]
    assert len(tables) == 3
    for line in tables:
        assert line.replace("\\|", "").count("|") in (4, 6)
    marked.encode("utf-8")


def test_shards_become_the_whole(desk: Desk) -> None:
    add, sub = cell("add", **behaviour(run="ok")), cell("sub", "FAIL", "run", "wrong")
    one = report_of(add, cell("sub", "LOST"), deselected=1)
    two = report_of(sub, add, deselected=1, run__id="two", run__argv=["-k", "y"], environment__python="3.12.1")
    code, said, _ = desk.merge(one, two)
    assert code == 1
    assert "2 shards, 2 cells: 1 of the contract are missing, 0 lost" in said
    merged = read_report(desk.merged)
    assert {row["case"]: row["verdict"] for row in merged["cells"]} == {"add": "PASS", "sub": "FAIL"}
    assert merged["run"]["complete"]
    assert merged["plan"] == {"cells": 2, "deselected": 1, "sha256": digest_of_ids([add["id"], sub["id"]])}
    assert merged["summary"]["verdicts"] == {"PASS": 1, "FAIL": 1}
    assert [row["cell"] for row in merged["availability"]["host"]] == [add["id"]]
    assert merged["environment"]["python"] == "3.11.7, 3.12.1"
    assert [shard["argv"] for shard in merged["run"]["shards"]] == [["-k", "x"], ["-k", "y"]]
    assert merged["certification"]["missing"] == [
        "1 cells of the contract were not selected for this run",
        "toy.works: FAIL in 1 of 2 cells",
    ]


def test_a_whole_without_gaps_is_a_success_and_can_be_merged_again(desk: Desk) -> None:
    one, two = report_of(cell("add"), deselected=1), report_of(cell("sub"), deselected=1, run__id="two")
    assert desk.merge(one, two)[0] == 0
    merged = read_report(desk.merged)
    assert merged["certification"]["achieved"] == "core"
    assert desk.merge(merged, two, one)[0] == 0
    assert read_report(desk.merged) == merged


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"backend__distribution_hash": "b" * 64}, "files of its distribution: bbbbbbbbbbbb, not none"),
        ({"backend__options": {"mode": "fast"}}, "options of the backend: {'mode': 'fast'}, not none"),
    ],
)
def test_shards_of_other_code_are_no_shards_of_one_run(desk: Desk, changed: dict[str, Any], what: str) -> None:
    one, two = report_of(cell("add"), deselected=1), report_of(cell("sub"), deselected=1, run__id="two", **changed)
    code, _, complained = desk.merge(one, two)
    assert code == 2
    assert what in complained


def test_a_merge_ends_as_the_run_would_have(desk: Desk) -> None:
    one = report_of(cell("add"), deselected=1)
    failing = report_of(cell("sub", "FAIL", "run", "no"), deselected=1, run__id="two")
    code, said, _ = desk.merge(one, failing)
    assert (code, "1 cell fails" in said) == (1, True)
    nothing = [
        report_of(cell(each, "UNSUPPORTED", message="declared"), deselected=1, run__id=each) for each in ("add", "sub")
    ]
    code, said, _ = desk.merge(*nothing)
    assert code == 1
    assert "the level core is not reached" in said


def test_a_merged_report_says_which_shards_were_resumed(desk: Desk) -> None:
    before = {"id": "zero", "started": "2025-12-31T23:00:00+00:00", "argv": ["-x"]}
    resumed = {"cells": 1, "runs": [before]}
    one = report_of(cell("add"), deselected=1, run__resumed=resumed)
    two = report_of(cell("sub"), deselected=1, run__id="two")
    assert desk.merge(one, two)[0] == 0
    merged = read_report(desk.merged)
    assert [shard.get("resumed") for shard in merged["run"]["shards"]] == [resumed, None]
    since = "; resumed: 1 of 2 cells are of runs that were interrupted, since 2025-12-31T23:00:00+00:00"
    assert view_of(merged).headline.endswith(since)
    assert desk.merge(merged, two, one)[0] == 0
    assert read_report(desk.merged) == merged


def test_a_cell_that_every_shard_lost_stays_lost(desk: Desk) -> None:
    code, said, _ = desk.merge(report_of(cell("add", "LOST")), report_of(cell("add", "LOST"), run__id="two"))
    assert code == 1
    assert "1 lost" in said
    assert not read_report(desk.merged)["run"]["complete"]


@pytest.mark.parametrize(
    ("other", "complaint"),
    [
        (report_of(cell("sub"), backend__name="other"), "differs in the backend: other, not toy"),
        (report_of(cell("sub"), backend__files=[]), "differs in the files of the backend: "),
        (report_of(cell("sub"), backend__toolchain="aot"), "differs in the toolchain: "),
        (report_of(cell("sub"), backend__states={}), "differs in the states of availability"),
        (report_of(cell("sub"), run__seed=1), "differs in the seed: 1, not 0"),
        (report_of(cell("sub"), harness__version="2"), "differs in the version of the harness: "),
        (report_of(cell("sub"), harness__contract__sha256="1" * 64), "differs in the digest of the contract: "),
        (report_of(cell("sub"), environment__torch="2.14"), "differs in the version of torch: 2.14, not 2.13.0"),
        (report_of(cell("sub")) | {"target": {"spec": "native"}}, "differs in the target: native, not local"),
        (report_of(cell("add", "FAIL")), "toy.works[add-full-yes/yes] came to FAIL, not PASS"),
        (report_of(cell("add", level="mobile")), "toy.works[add-full-yes/yes] is another cell there"),
        (report_of(cell("sub"), cell("sub")), "the cell toy.works[sub-full-yes/yes] stands there twice"),
        (report_of(cell("sub"), run__seconds=10**400), "is too large"),
        (report_of(cell("sub", message="\ud800")), "no Unicode"),
        (report_of(cell("sub")) | {"clauses": [{"id": "toy.works"}]}, "'suite' is a required property"),
    ],
)
def test_what_does_not_belong_together_is_refused(desk: Desk, other: dict[str, Any], complaint: str) -> None:
    desk.merged.write_text("as it was")
    code, said, complained = desk.merge(report_of(cell("add")), other)
    assert (code, said) == (2, "")
    assert complaint in complained
    assert len(complained.splitlines()) == 1
    assert desk.merged.read_text() == "as it was"
    assert {path.name for path in desk.folder.iterdir()} == {"0.json", "1.json", "merged.json"}


def test_a_sum_that_is_no_number_is_not_written(desk: Desk) -> None:
    shards = [report_of(cell(name), run__id=name, run__seconds=1.7e308) for name in ("add", "sub")]
    code, _, complained = desk.merge(*shards)
    assert code == 2
    assert "a number that is no JSON" in complained
    assert not desk.merged.exists()


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[]",
        lambda text: "[" * 100_000,
        lambda text: text.replace("report/1", "report/9"),
        lambda text: text.replace('"cells": 1', '"cells": 2'),
        lambda text: text.replace('"seconds": {}', '"seconds": {"a\\n\\u001b[31m": "x"}'),
    ],
    ids=["truncated", "empty", "another-type", "deep", "another-format", "contradiction", "escapes"],
)
def test_bad_input_gets_one_line(desk: Desk, damage: Callable[[str], str]) -> None:
    good = desk.put("good.json", report_of(cell("add")))
    bad = desk.put("bad.json", damage(Path(good).read_text()))
    for arguments in (("compare", good, bad), ("compare", bad, good), ("merge", good, bad, "-o", str(desk.merged))):
        code, said, complained = desk.run(*arguments)
        assert (code, said) == (2, "")
        assert len(complained.splitlines()) == 1
        assert "\x1b" not in complained
    assert not desk.merged.exists()


def test_the_reproducers_of_shards_are_beside_the_whole(desk: Desk) -> None:
    mark = "# Written by torch-conformance: a failure of a backend, to be seen without the harness."
    scripts = {
        "one/reproducers/add": f"{mark}\none",
        "two/reproducers/sub": f"{mark}\ntwo",
        "two/reproducers/x": "a note",
    }
    for folder, text in scripts.items():
        (desk.folder / folder).mkdir(parents=True)
        (desk.folder / folder / "reproduce.py").write_text(text)
    shards = [desk.put(f"{each}/report.json", report_of(cell(each))) for each in ("one", "two")]
    (desk.folder / "whole/reproducers/old").mkdir(parents=True)
    (desk.folder / "whole/reproducers/old/reproduce.py").write_text(mark)
    for _ in range(2):
        _, said, complained = desk.run("merge", *shards, "-o", str(desk.folder / "whole/report.json"))
        assert not complained
        assert "reproducers: whole/reproducers (2 scripts)" in said.replace(f"{desk.folder}/", "")
        found = {path.parent.name: path.read_text() for path in (desk.folder / "whole/reproducers").glob("*/*.py")}
        assert found == {"add": f"{mark}\none", "sub": f"{mark}\ntwo"}


def test_files_that_are_not_there(desk: Desk) -> None:
    good = desk.put("good.json", report_of(cell("add")))
    absent = str(desk.folder / "absent.json")
    assert desk.run("compare", good, absent)[::2] == (
        2,
        "conformance: absent.json cannot be read: No such file or directory\n",
    )
    code, _, complained = desk.run("merge", good, "-o", str(desk.folder / "absent" / "out.json"))
    assert code == 2
    assert "cannot be written: No such file or directory" in complained
    assert desk.run("merge", good, "-o", str(desk.folder))[0] == 2


def test_two_shards_of_a_real_run_come_to_what_one_run_comes_to(shared_run: Callable[..., Run], desk: Desk) -> None:
    parts = ("test_composition", "test_availability")
    shards = [shared_run("--backend=reference", "-k", part) for part in parts]
    whole = shared_run("--backend=reference", "-k", " or ".join(parts))
    paths = [str(run.report_folder("reference") / "report.json") for run in (*shards, whole)]
    code, _, complained = desk.run("merge", *paths[:2], "-o", str(desk.merged))
    assert (code, complained) == (1, "")
    merged, expected = read_report(desk.merged), whole.report("reference")
    for part in ("plan", "summary", "certification", "clauses"):
        assert merged[part] == expected[part]
    assert [(row["id"], row["verdict"]) for row in merged["cells"]] == [
        (row["id"], row["verdict"]) for row in expected["cells"]
    ]
    code, said, _ = desk.run("compare", paths[2], str(desk.merged))
    assert code == 0
    assert "A to B: 0 regressed, 86 unchanged" in said
