# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin of msprobe.

``assert_close``: a fixture, msprobe.testing.assert_close.
``@pytest.mark.msprobe(device="npu:0")``: every PyTorch call of the test is recorded and replayed; a wrong one fails the test. Without such a
device the test is skipped.
"""

from __future__ import annotations

from typing import Any

import pytest

_MARK = "msprobe"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{_MARK}(device='cpu', **keywords): replay every PyTorch call of the test on the device and fail "
                                       "if one is wrong; the keywords are those of msprobe.check()")


@pytest.fixture
def assert_close() -> Any:
    """msprobe.testing.assert_close: raises with the share of wrong elements, the worst of them and the likely cause."""
    from msprobe.testing import assert_close as function

    return function


@pytest.hookimpl(hookwrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Any:
    mark = pyfuncitem.get_closest_marker(_MARK)
    if mark is None:
        yield
        return
    import tempfile

    import msprobe

    with tempfile.TemporaryDirectory(prefix="msprobe_dump_") as scratch:
        with msprobe.record(scratch, task="tensor") as recording:
            outcome = yield
        if outcome.excinfo is None:
            _judge(outcome, recording.path, mark)


def _judge(outcome: Any, dump: str, mark: pytest.Mark) -> None:
    import msprobe

    __tracebackhide__ = True
    try:
        result = msprobe.check(dump, *mark.args, **{"progress": False, **mark.kwargs})
    except msprobe.DeviceMissing as missing:
        ending = _ending(pytest.skip, f"msprobe: {missing}")
    except msprobe.CheckError as error:
        ending = _ending(pytest.fail, f"msprobe: {error}", pytrace=False)
    else:
        if result.ok:
            return
        ending = _ending(pytest.fail, str(result), pytrace=False)
    outcome.force_exception(ending)


def _ending(end: Any, text: str, **keywords: Any) -> BaseException:
    """The exception of `end` (pytest.fail, pytest.skip), at the place of the test."""
    try:
        end(text, **keywords)
    except BaseException as ending:
        ending.__context__ = None
        ending._use_item_location = True  # type: ignore[attr-defined]
        return ending
    raise AssertionError("unreachable")
