"""A real stream that is started again with another setting is refused, whichever it is: each was
once a wrong answer.
"""

import numpy as np
import pytest

pytest.importorskip("pyspark")

from pyspark.errors import StreamingQueryException

from spark import local
from spark.worlds import FEATURES, world, write

pytestmark = [pytest.mark.deep, pytest.mark.xdist_group("spark")]

FIRST = {
    "key": "key",
    "features": FEATURES,
    "target": "label",
    "order": "at",
    "classes": ["no", "yes"],
    "buckets": 2,
}
CHANGES = {
    "classes": {"classes": ["yes", "no"]},
    "target": {"target": "other"},
    "key": {"key": "place"},
    "order": {"order": "later"},
    "buckets": {"buckets": 64},
    "features": {"features": ["x1", "x0", "x2"]},
}
"""What is changed, one at a time."""


def labelled(seed, prefix):
    """Rows with two labels, two names of keys and two orders; all keys begin with a prefix."""
    frame = world(6, 1, seed=seed, most=9)
    frame["key"] = prefix + frame["key"]
    frame["label"], frame["other"] = (
        np.where(frame["y"] > 0, "yes", "no"),
        np.where(frame["x0"] > 0, "yes", "no"),
    )
    return frame.assign(place=frame["key"].str[-1], later=frame["at"] + 5)


@pytest.fixture(scope="module")
def tracked(spark, tmp_path_factory):
    """A folder with rows that were tracked, and others that wait: of new keys only."""
    from swordplay.spark import track_stream

    folder = tmp_path_factory.mktemp("silent")
    write(labelled(1, ""), folder / "in")

    def run(**settings):
        stream = local.rows_of(spark, folder / "in")
        local.run(track_stream(stream, **{**FIRST, **settings}), folder)

    run()
    write(labelled(2, "new "), folder / "in", first=1)
    return spark, folder, run


def test_settings_that_have_changed_are_refused_and_named(tracked):
    spark, folder, run = tracked
    before = spark.read.parquet(str(folder / "out")).count()
    for name, change in CHANGES.items():
        with pytest.raises(
            StreamingQueryException, match=f"was saved with other settings: {name} was .* and is "
        ):
            run(**change)
        assert spark.read.parquet(str(folder / "out")).count() == before


def test_the_settings_of_before_go_on_after_all_that(tracked):
    spark, folder, run = tracked
    run()
    assert spark.read.parquet(str(folder / "out")).count() == len(labelled(1, "")) + len(
        labelled(2, "new ")
    )
