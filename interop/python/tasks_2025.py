"""Tasks of 2025-11-25, with the experimental API of the SDK 1.x."""

from typing import Any

import mcp.types as types
from mcp import ClientSession

from features import refused, text_of
from report import Report, equal


async def tasks(report: Report, client: ClientSession, result: Any) -> None:
    features = client.experimental

    async def brew(step_ms: int) -> str:
        created = await features.call_tool_as_task("brew", {"step_ms": step_ms})
        equal(created.task.status, "working")
        return created.task.taskId

    async def task() -> None:
        task = await brew(50)
        seen = [status.status async for status in features.poll_task(task)]
        equal(seen[-1], "completed")
        for _ in range(2):
            told = await result(features.get_task_result(task, types.CallToolResult))
            equal(text_of(told), "a cup of coffee")
            equal(told["_meta"]["io.modelcontextprotocol/related-task"], {"taskId": task})

    async def waiting() -> None:
        # `tasks/result` waits for the end.
        task = await brew(50)
        told = await result(features.get_task_result(task, types.CallToolResult))
        equal(text_of(told), "a cup of coffee")

    async def cancelled() -> None:
        task = await brew(60_000)
        equal((await features.cancel_task(task)).status, "cancelled")
        equal((await features.get_task(task)).status, "cancelled")
        await refused(-32602, result(features.cancel_task(task)))

    async def unknown() -> None:
        await refused(-32602, result(features.get_task("nothing")))
        await refused(-32602, result(features.get_task_result("nothing", types.CallToolResult)))

    await report.check("task", task)
    await report.check("result of a task that runs", waiting)
    await report.check("cancelled task", cancelled)
    await report.check("unknown task", unknown)
