"""Runs checks and tells of each in a line. Nothing here knows the protocol."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio

# More than anything takes here, on a machine that is busy with something else too.
PATIENCE_S = 20


class Report:
    def __init__(self, client: str) -> None:
        self.client = client

    async def check(self, name: str, body: Callable[[], Awaitable[None]]) -> None:
        """Runs one check. One that fails doesn't stop those after it."""
        try:
            with anyio.fail_after(PATIENCE_S):
                await body()
            print(f"ok      {self.client}: {name}", flush=True)
        except Exception as error:
            self.fail(name, error)

    def fail(self, name: str, error: BaseException) -> None:
        print(f"FAILED  {self.client}: {name}: {reason(error)}", flush=True)


def reason(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    words = " | ".join(str(error).split("\n"))
    place = error.__traceback__
    while place is not None and place.tb_next is not None and "site-packages" not in str(place.tb_next.tb_frame.f_code):
        place = place.tb_next
    line = place.tb_lineno if place is not None else "?"
    return f"{type(error).__name__} in line {line}: {words}"


def equal(actual: Any, expected: Any) -> None:
    assert actual == expected, f"{actual!r} is not {expected!r}"


class Heard:
    """What is heard from the server without being asked for, to be waited for."""

    def __init__(self) -> None:
        self._messages: list[tuple[str, dict[str, Any]]] = []
        self._news = anyio.Event()

    def add(self, kind: str, params: dict[str, Any]) -> None:
        self._messages.append((kind, params))
        self._news.set()
        self._news = anyio.Event()

    async def next(self, kind: str) -> dict[str, Any]:
        while True:
            for at, (it, params) in enumerate(self._messages):
                if it == kind:
                    del self._messages[at]
                    return params
            await self._news.wait()

    def count(self, kind: str) -> int:
        return sum(it == kind for it, _ in self._messages)

    def forget(self) -> None:
        self._messages.clear()
