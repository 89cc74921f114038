"""Tests with the same ``xdist_group`` run in the same worker, so that only one worker starts
Spark.
"""

import pytest


@pytest.mark.xdist_group("one")
def test_a_group_stays_in_one_process(request):
    """With ``--dist loadgroup``, xdist appends the group to the test's name.

    Pytest 9.2 drops it and spreads the tests.
    """
    assert not getattr(request.config.option, "loadgroup", False) or request.node.nodeid.endswith(
        "@one"
    )
