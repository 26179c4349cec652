"""The official Python SDK, newest version of 2.x: with a handshake and without."""

import sys
import tempfile
import time
import warnings
from typing import Any

import anyio
import httpx2
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from carriers import http_server, ping_status
from features import ROOTS, Object, Refused, elicited, features, refused, sampled, text_of
from handshake import handshake
from report import Heard, Report, equal
from stateless import stateless
from tasks_2026 import tasks

# What 2026-07-28 has no longer is still there for the servers before it.
warnings.simplefilter("ignore")


class Session:
    """See `features.Session`."""

    def __init__(self, report: Report, stderr: Any) -> None:
        self.client: Client
        self.left_at = 0.0
        self.heard = Heard()
        self.declines = False
        self._report = report
        self._stderr = stderr

    @property
    def revision(self) -> str:
        return self.client.protocol_version

    async def call(self, name: str, arguments: Object | None = None, **options: Any) -> Object:
        called = self.client.call_tool(
            name,
            arguments or {},
            options.get("timeout_s"),
            options.get("progress"),
            meta=options.get("meta"),
        )
        return await result(called)

    async def page(self, kind: str, cursor: str | None = None) -> Object:
        client = self.client
        lists: dict[str, Any] = {
            "tools": client.list_tools,
            "resources": client.list_resources,
            "templates": client.list_resource_templates,
            "prompts": client.list_prompts,
        }
        return await result(lists[kind](cursor=cursor))

    async def read(self, uri: str) -> Object:
        read = await result(self.client.read_resource(uri))
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
        # Who stops waiting cancels.
        with anyio.CancelScope() as scope:

            async def on_progress(*_: Any) -> None:
                scope.cancel()

            await self.call(name, arguments, progress=on_progress)

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
        await self.client.subscribe_resource(uri)

    async def unsubscribe(self, uri: str) -> None:
        await self.client.unsubscribe_resource(uri)

    async def roots_changed(self) -> None:
        await self.client.send_roots_list_changed()

    # What the SDK calls.

    async def on_message(self, message: Any) -> None:
        if isinstance(message, Exception):
            self._report.fail("what the server sends can be read", message)
        else:
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
    except MCPError as error:
        raise Refused(error.code, error.message, error.data) from error


SERVER = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])


async def everything(session: Session, report: Report, mode: str, revision: str, transport: Any) -> None:
    async with Client(
        transport,
        mode=mode,
        sampling_callback=session.on_sample,
        elicitation_callback=session.on_elicit,
        list_roots_callback=session.on_roots,
        message_handler=session.on_message,
    ) as client:
        session.client = client

        async def identity() -> None:
            equal(client.protocol_version, revision)
            equal(client.server_info and client.server_info.name, "bowline-demo")
            assert "echo" in (client.instructions or "")
            capabilities = plain(client.server_capabilities)
            assert capabilities["resources"]["subscribe"] and "completions" in capabilities

        await report.check("identity and capabilities", identity)
        await features(report, session)
        await (handshake if mode == "legacy" else stateless)(report, session)
        session.left_at = time.monotonic()


async def others(report: Report, server: Any) -> None:
    """What other clients do without a handshake."""

    async def cannot_be_asked() -> None:
        async with Client(server, mode="auto") as client:
            error = await refused(-32021, result(client.call_tool("ask_name", {})))
            equal(error.data, {"requiredCapabilities": {"elicitation": {"form": {}}}})

    async def without_discovery() -> None:
        async with Client(server, mode="2026-07-28") as client:
            equal(text_of(plain(await client.call_tool("echo", {"text": "x"}))), "x")

    await report.check("no discovery", without_discovery)
    await report.check("a client that cannot be asked", cannot_be_asked)
    await tasks(report, lambda extensions: Client(server, mode="auto", extensions=extensions))


async def over_stdio(mode: str, revision: str) -> None:
    report = Report(f"python-sdk 2.x, {revision}")
    with tempfile.TemporaryFile("w+") as stderr:
        session = Session(report, stderr)
        await everything(session, report, mode, revision, stdio_client(SERVER, errlog=stderr))

    async def ending() -> None:
        # The SDK closes stdin first, and kills after two seconds.
        assert time.monotonic() - session.left_at < 1.9, "it had to be killed"

    await report.check("the server leaves when its client does", ending)
    if mode != "legacy":
        await others(report, SERVER)


async def over_http(mode: str, revision: str) -> None:
    report = Report(f"python-sdk 2.x, {revision}, HTTP")
    ids: set[str] = set()

    async def note_session(response: httpx2.Response) -> None:
        ids.update(response.headers.get_list("mcp-session-id"))

    async with http_server(report) as url:
        async with httpx2.AsyncClient(timeout=30, event_hooks={"response": [note_session]}) as http_client:
            transport = streamable_http_client(url, http_client=http_client)
            await everything(Session(report, None), report, mode, revision, transport)

        async def ended() -> None:
            equal([ping_status(url, id) for id in ids], [404] if mode == "legacy" else [])

        await report.check("the session ends with its client" if mode == "legacy" else "there is no session", ended)
        if mode != "legacy":
            await others(report, url)


async def main() -> None:
    for carrier in [over_stdio, over_http]:
        await carrier("legacy", "2025-11-25")
        await carrier("auto", "2026-07-28")


anyio.run(main)
