"""The official Python SDK, last version of 1.x."""

import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import anyio
import mcp.types as types
from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from pydantic import AnyUrl

from carriers import http_server, ping_status
from features import ROOTS, Object, Refused, elicited, features, sampled, text_of
from handshake import handshake
from report import Heard, Report, equal
from tasks_2025 import tasks


class Session:
    """See `features.Session`."""

    revision = "2025-11-25"

    def __init__(self, report: Report, stderr: Any) -> None:
        self.client: ClientSession
        self.heard = Heard()
        self.declines = False
        self._report = report
        self._stderr = stderr

    async def call(self, name: str, arguments: Object | None = None, **options: Any) -> Object:
        timeout = timedelta(seconds=options["timeout_s"]) if "timeout_s" in options else None
        progress = options.get("progress")
        return await result(self.client.call_tool(name, arguments or {}, timeout, progress_callback=progress))

    async def page(self, kind: str, cursor: str | None = None) -> Object:
        client = self.client
        lists: dict[str, Any] = {
            "tools": client.list_tools,
            "resources": client.list_resources,
            "templates": client.list_resource_templates,
            "prompts": client.list_prompts,
        }
        return await result(lists[kind](params=types.PaginatedRequestParams(cursor=cursor)))

    async def read(self, uri: str) -> Object:
        read = await result(self.client.read_resource(AnyUrl(uri)))
        return read["contents"][0]

    async def prompt(self, name: str, arguments: Object | None = None) -> Object:
        return await result(self.client.get_prompt(name, arguments))

    async def complete(
        self, ref: Object, name: str, value: str, context: Object | None = None
    ) -> list[str]:
        kind = types.PromptReference if ref["type"] == "ref/prompt" else types.ResourceTemplateReference
        argument = {"name": name, "value": value}
        completed = await result(self.client.complete(kind(**ref), argument, context))
        return completed["completion"]["values"]

    async def cancelled_call(self, name: str, arguments: Object) -> None:
        # This SDK leaves cancelling to its user. The token of progress is the id of the request.
        async def on_progress(*_: Any) -> None:
            pass

        self.heard.forget()
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: self.call(name, arguments, progress=on_progress))
            token = (await self.heard.next("notifications/progress"))["progressToken"]
            params = types.CancelledNotificationParams(requestId=token, reason="enough")
            cancelled = types.CancelledNotification(params=params)
            await self.client.send_notification(types.ClientNotification(cancelled))
            group.cancel_scope.cancel()

    def stderr(self) -> str | None:
        if self._stderr is None:
            return None
        self._stderr.seek(0)
        return self._stderr.read()

    async def ping(self) -> Object:
        return await result(self.client.send_ping())

    async def set_level(self, level: Any) -> None:
        await self.client.set_logging_level(level)

    async def subscribe(self, uri: str) -> None:
        await self.client.subscribe_resource(AnyUrl(uri))

    async def unsubscribe(self, uri: str) -> None:
        await self.client.unsubscribe_resource(AnyUrl(uri))

    async def roots_changed(self) -> None:
        await self.client.send_roots_list_changed()

    # What the SDK calls.

    async def on_message(self, message: Any) -> None:
        if isinstance(message, Exception):
            self._report.fail("what the server sends can be read", message)
        elif isinstance(message, types.ServerNotification):
            heard = plain(message)
            self.heard.add(heard["method"], heard.get("params", {}))

    async def on_elicit(self, _: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(**elicited(plain(params), self.declines))

    async def on_sample(self, _: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        return types.CreateMessageResult(**sampled(plain(params)))

    async def on_roots(self, _: Any) -> types.ListRootsResult:
        return types.ListRootsResult.model_validate(ROOTS)


def plain(model: Any) -> Any:
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


async def result(call: Any) -> Object:
    try:
        return plain(await call)
    except McpError as error:
        raise Refused(error.error.code, error.error.message, error.error.data) from error


@asynccontextmanager
async def connection(session: Session, report: Report, streams: Any) -> AsyncIterator[None]:
    """Shakes hands, and tries everything."""
    reader, writer, *_ = streams
    async with ClientSession(
        reader,
        writer,
        sampling_callback=session.on_sample,
        elicitation_callback=session.on_elicit,
        list_roots_callback=session.on_roots,
        message_handler=session.on_message,
    ) as client:
        session.client = client

        async def identity() -> None:
            greeted = plain(await client.initialize())
            equal(greeted["protocolVersion"], "2025-11-25")
            equal(greeted["serverInfo"]["name"], "bowline-demo")
            assert "echo" in greeted["instructions"]
            assert greeted["capabilities"]["resources"]["subscribe"]
            assert "completions" in greeted["capabilities"]

        await report.check("identity and capabilities", identity)
        await features(report, session)
        await handshake(report, session)
        await tasks(report, client, result)
        yield


async def cannot_be_asked(streams: Any) -> None:
    reader, writer, *_ = streams
    async with ClientSession(reader, writer) as client:
        await client.initialize()
        answer = plain(await client.call_tool("ask_name", {}))
        assert answer["isError"] and "elicitation" in text_of(answer), answer


async def over_stdio() -> None:
    report = Report("python-sdk 1.x, 2025-11-25")
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])
    with tempfile.TemporaryFile("w+") as stderr:
        async with stdio_client(server, errlog=stderr) as streams:
            async with connection(Session(report, stderr), report, streams):
                pass
            begin = time.monotonic()

        async def ending() -> None:
            # The SDK closes stdin first, and kills after two seconds.
            assert time.monotonic() - begin < 1.9, "it had to be killed"

        await report.check("the server leaves when its client does", ending)

    async def another() -> None:
        async with stdio_client(server) as streams:
            await cannot_be_asked(streams)

    await report.check("a client that cannot be asked", another)


async def over_http() -> None:
    report = Report("python-sdk 1.x, 2025-11-25, HTTP")
    async with http_server(report) as url:
        async with streamable_http_client(url) as streams:
            async with connection(Session(report, None), report, streams):
                session_id = streams[2]()

        async def ended() -> None:
            equal(ping_status(url, session_id), 404)

        await report.check("the session ends with its client", ended)

        async def another() -> None:
            async with streamable_http_client(url) as streams:
                await cannot_be_asked(streams)

        await report.check("a client that cannot be asked", another)


async def main() -> None:
    await over_stdio()
    await over_http()


anyio.run(main)
