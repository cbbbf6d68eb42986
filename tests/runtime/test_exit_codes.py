"""Ends of commands in words."""

from collections.abc import Callable

import pytest

from rag_research.errors import DataError
from rag_research.runtime.exit_codes import exit_code


def raising(error: BaseException) -> Callable[[], int]:
    def work() -> int:
        raise error

    return work


def test_a_code_comes_through() -> None:
    assert exit_code(lambda: 0) == 0
    assert exit_code(lambda: 1) == 1


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (DataError("no questions in f.jsonl"), 2, "error: no questions in f.jsonl"),
        (PermissionError(13, "Permission denied", "runs/x"), 2, "Permission denied: runs/x"),
        (OSError("disk"), 2, "error: disk"),
        (KeyboardInterrupt(), 130, "stopped"),
    ],
)
def test_errors_have_words(
    error: BaseException, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(raising(error)) == code
    assert said in capsys.readouterr().err


def test_what_no_user_can_mend_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError):
        exit_code(raising(ZeroDivisionError()))
