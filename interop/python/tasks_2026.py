"""The tasks extension of 2026-07-28, which the SDK 2.x leaves to whoever wants it."""

from typing import Any, ClassVar, Literal

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim

from features import text_of
from report import Report, equal


class Tasks(ClientExtension):
    """Follows a call that has become a task to its end."""

    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def claims(self) -> list[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=Created, resolve=self._resolve)]

    async def _resolve(self, created: "Created", context: ClaimContext) -> types.CallToolResult:
        self.seen.append(created.status)
        while True:
            request = GetTask(params=GetTaskParams(task_id=created.task_id))
            task = await context.session.send_request(request, Detailed)
            self.seen.append(task.status)
            if task.status != "working":
                return types.CallToolResult.model_validate(task.result)
            await anyio.sleep(task.poll_interval_ms / 1000)


class Task(types.Result):
    task_id: str
    status: str
    ttl_ms: int | None
    poll_interval_ms: int


class Created(Task):
    result_type: Literal["task"] = "task"


class Detailed(Task):
    result: dict[str, Any] | None = None


class GetTaskParams(types.RequestParams):
    task_id: str


class GetTask(types.Request[GetTaskParams, Literal["tasks/get"]]):
    # What HTTP repeats in `Mcp-Name`.
    name_param: ClassVar[str] = "taskId"
    method: Literal["tasks/get"] = "tasks/get"
    params: GetTaskParams


async def tasks(report: Report, connect: Any) -> None:
    """`connect` makes a client with these extensions."""

    async def task() -> None:
        extension = Tasks()
        async with connect([extension]) as client:
            told = await client.call_tool("brew", {"step_ms": 600})
            equal(text_of(told.model_dump(by_alias=True)), "a cup of coffee")
            equal((extension.seen[0], extension.seen[-1]), ("working", "completed"))

    async def soon() -> None:
        extension = Tasks()
        async with connect([extension]) as client:
            told = await client.call_tool("brew", {"step_ms": 1})
            equal(text_of(told.model_dump(by_alias=True)), "a cup of coffee")
            equal(extension.seen, [])

    async def unknown() -> None:
        async with connect([Tasks()]) as client:
            request = GetTask(params=GetTaskParams(task_id="nothing"))
            try:
                await client.session.send_request(request, Detailed)
            except MCPError as error:
                equal(error.code, -32602)
            else:
                raise AssertionError("no error")

    async def undeclared() -> None:
        # Whoever doesn't know tasks waits.
        async with connect([]) as client:
            told = await client.call_tool("brew", {"step_ms": 400})
            equal(text_of(told.model_dump(by_alias=True)), "a cup of coffee")

    await report.check("a call that becomes a task", task)
    await report.check("a call that is done before it would", soon)
    await report.check("unknown task", unknown)
    await report.check("no task for who hasn't declared it", undeclared)
