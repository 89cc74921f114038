"""Profiles and options shared by all tests."""

import gc
import os

import pytest
from hypothesis import HealthCheck, Phase, settings

os.environ["SWORDPLAY_BUNDLED_KERNELS"] = (
    "0"  # here and in what tests start: they are about the sources
)

settings.register_profile(
    "fixed",
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "deep", max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(  # for mutants: whether a test fails, and not how simply it could
    "unshrunk", settings.get_profile("fixed"), phases=[Phase.explicit, Phase.generate]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """The tests of a file go to one worker, unless they say otherwise: what they share is made,
    or compiled, once.
    """
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


def pytest_collection_finish():
    """What was collected stays to the end: looks at all of it took the garbage collector fifteen
    seconds a worker.
    """
    gc.collect()
    gc.freeze()


# Here and not beside the theorems: where workers run the tests, only this file is loaded by the
# process that reports.
def pytest_terminal_summary(terminalreporter):
    """The largest ratio regret / bound of each learner over all games.

    Reports carry it home from every worker.
    """
    largest: dict[str, float] = {}
    games = 0
    for report in terminalreporter.stats.get("passed", []):
        for name, used in getattr(report, "user_properties", []):
            if name == "used":
                games += 1
                for what, share in used.items():
                    largest[what] = max(share, largest.get(what, share))
    if largest:
        terminalreporter.section(f"largest regret / bound over {games} random games")
        for what, share in sorted(largest.items(), key=lambda item: -item[1]):
            terminalreporter.write_line(f"{share:8.4f}  {what}")
