"""What is installed where a target is to run. Sent there as text, so it needs nothing but the standard library."""

import contextlib
import platform
from importlib import metadata


def facts():  # type: ignore[no-untyped-def]
    """Name → version, or None for what is missing; ``harness_problem`` says why the harness cannot be imported."""
    found = {
        "python": platform.python_version(),
        "platform": "%s %s" % (platform.system(), platform.machine()),  # noqa: UP031  (for whichever Python is there)
        "torch": None,
        "harness": None,
        "harness_problem": "",
    }
    with contextlib.suppress(metadata.PackageNotFoundError):
        found["torch"] = metadata.version("torch")
    try:
        import conformance

        found["harness"] = conformance.__version__
        import conformance.targets.far
    except Exception as error:
        found["harness_problem"] = "%s: %s" % (type(error).__name__, error)  # noqa: UP031
    return found


if __name__ == "__channelexec__":
    channel.send(facts())  # type: ignore[name-defined, no-untyped-call]  # noqa: F821
