"""``python -m support.campaigns inputs --number 20000 --seed 1``: run a campaign, and say what it saw."""

from __future__ import annotations

import argparse
import sys
import time
import warnings

from support.campaigns import answers, faults, inputs, interruptions
from support.campaigns.watch import Watch


def main() -> int:
    """Run the campaign that the command line names; 0 where nothing was found."""
    parser = argparse.ArgumentParser(prog="python -m support.campaigns")
    campaigns = parser.add_subparsers(dest="campaign", required=True, metavar="CAMPAIGN")
    for name, number in (("inputs", 20_000), ("answers", 20_000), ("interruptions", 100)):
        drawn = campaigns.add_parser(name)
        drawn.add_argument("--number", type=int, default=number, help=f"how many (default: {number})")
        drawn.add_argument("--seed", type=int, default=1, help="what they are drawn from (default: 1)")
        if name != "interruptions":
            drawn.add_argument("--again", default="", metavar="NAME", help="one of them, as a finding names it")
    all_of_them = campaigns.add_parser("faults")
    all_of_them.add_argument("--cells", type=int, default=1, help="cells for each fault and phase (default: 1)")
    all_of_them.add_argument("--workers", type=int, nargs="+", default=[0, 2], help="a run for each (default: 0 2)")
    all_of_them.add_argument("--only", nargs="*", default=(), help="these faults and no others")
    options = parser.parse_args()
    began = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seen = _seen(options)
    print(seen.summary())
    print(f"{time.monotonic() - began:.0f} s")
    return 1 if seen.findings else 0


def _seen(options: argparse.Namespace) -> faults.Seen | interruptions.Seen | Watch:
    match options.campaign:
        case "faults":
            return faults.campaign(options.cells, options.workers, options.only)
        case "interruptions":
            return interruptions.campaign(options.number, options.seed)
        case "answers":
            return answers.campaign(options.number, options.seed, again=options.again)
        case _:
            return inputs.campaign(options.number, options.seed, again=options.again)


if __name__ == "__main__":
    sys.exit(main())
