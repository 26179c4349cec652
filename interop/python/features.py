"""What every client is asked to do, whichever version of the SDK and whichever revision.

A session hides where the versions differ: it takes plain values and returns what came as JSON.
"""

import base64
import json
from typing import Any, Protocol

import anyio

from report import Heard, Report, equal

Object = dict[str, Any]


class Refused(Exception):
    """An error of the protocol that the server answered with."""

    def __init__(self, code: int, message: str, data: Any) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.data = code, message, data


class Session(Protocol):
    revision: str
    heard: Heard
    # What the person says to every form.
    declines: bool

    async def call(self, name: str, arguments: Object | None = None, **options: Any) -> Object: ...
    async def page(self, kind: str, cursor: str | None = None) -> Object: ...
    async def read(self, uri: str) -> Object: ...
    async def prompt(self, name: str, arguments: Object | None = None) -> Object: ...
    async def complete(
        self, ref: Object, name: str, value: str, context: Object | None = None
    ) -> list[str]: ...
    async def cancelled_call(self, name: str, arguments: Object) -> None: ...
    # What the server has written to stderr; `None` over HTTP.
    def stderr(self) -> str | None: ...


async def features(report: Report, session: Session) -> None:
    await tools(report, session)
    await errors(report, session)
    await patience(report, session)
    await resources(report, session)
    await prompts(report, session)
    await asking(report, session)
    await pages(report, session)


def text_of(result: Object) -> str:
    return result["content"][0]["text"]


async def refused(code: int, call: Any) -> Refused:
    try:
        result = await call
    except Refused as error:
        assert error.code == code, str(error)
        return error
    raise AssertionError(f"no error but {result}")


async def tools(report: Report, session: Session) -> None:
    call = session.call

    async def list_tools() -> None:
        by_name = {it["name"]: it for it in (await session.page("tools"))["tools"]}
        equal(by_name["add"]["inputSchema"]["required"], ["a", "b"])
        equal(by_name["echo"]["annotations"]["readOnlyHint"], True)
        equal(by_name["count_words"]["outputSchema"]["type"], "object")
        equal(by_name["image"]["icons"][0]["mimeType"], "image/png")

    async def text() -> None:
        words = 'Knoten – 結び目 – 🪢\n"quoted" \u2028 \u0000'
        equal(text_of(await call("echo", {"text": words})), words)
        equal(text_of(await call("add", {"a": 1.5, "b": 2})), "3.5")

    async def structured() -> None:
        # The SDK compares it with the output schema.
        result = await call("count_words", {"text": "two words\nthree in all"})
        counts = {"characters": 22, "words": 5, "lines": 2}
        equal(result["structuredContent"], counts)
        equal(json.loads(text_of(result)), counts)

    async def image_and_audio() -> None:
        for name, begin in [("image", b"\x89PNG"), ("audio", b"RIFF")]:
            content = (await call(name))["content"][0]
            equal(content["type"], name)
            equal(base64.b64decode(content["data"])[:4], begin)

    async def links() -> None:
        link = (await call("resource_link"))["content"][0]
        equal(link["type"], "resource_link")
        equal((await session.read(link["uri"]))["mimeType"], "image/png")
        embedded = (await call("embedded_resource"))["content"][0]
        equal(embedded["resource"]["uri"], "demo://readme")
        mixed = (await call("mixed"))["content"]
        equal([it["type"] for it in mixed], ["text", "image", "audio", "resource_link", "resource"])

    async def large() -> None:
        equal(len(text_of(await call("large", {"bytes": 5_000_000}))), 5_000_000)

    async def many() -> None:
        sums: dict[int, str] = {}

        async def add(a: int) -> None:
            sums[a] = text_of(await call("add", {"a": a, "b": 1}))

        async with anyio.create_task_group() as group:
            for a in range(200):
                group.start_soon(add, a)
        equal({a: float(it) for a, it in sums.items()}, {a: a + 1 for a in range(200)})

    await report.check("list tools", list_tools)
    await report.check("text", text)
    await report.check("structured content", structured)
    await report.check("image and audio", image_and_audio)
    await report.check("resource link, embedded resource, mixed content", links)
    await report.check("large result", large)
    await report.check("many calls at once", many)


async def errors(report: Report, session: Session) -> None:
    call = session.call

    async def of_a_tool() -> None:
        result = await call("fail", {"message": "out of rope"})
        equal((result["isError"], text_of(result)), (True, "out of rope"))
        hidden = await call("fail_inside")
        assert hidden["isError"] and "secret" not in str(hidden)
        wrong = await call("add", {"a": 1, "b": "two"})
        assert wrong["isError"] and "b: invalid type" in text_of(wrong), wrong

    async def of_the_protocol() -> None:
        error = await refused(-31000, call("protocol_error"))
        equal(error.data, {"reason": "demonstration"})
        await refused(-32602, call("nothing"))
        await refused(-32602, session.prompt("nothing"))
        await refused(-32602, session.prompt("greet"))
        await refused(-32602, session.page("resources", "nonsense"))

    async def not_found() -> None:
        missing = -32602 if session.revision >= "2026-07-28" else -32002
        error = await refused(missing, session.read("demo://nothing"))
        equal(error.data["uri"], "demo://nothing")
        await refused(-32603, session.read("demo://broken"))

    async def panic() -> None:
        error = await refused(-32603, call("panic"))
        assert "bug" not in error.message
        equal(text_of(await call("echo", {"text": "alive"})), "alive")

    async def stray_print() -> None:
        await call("print", {"text": "astray"})
        while "astray" not in (session.stderr() or ""):
            await call("slow", {"ms": 10})

    await report.check("error of a tool", of_a_tool)
    await report.check("error of the protocol", of_the_protocol)
    await report.check("resource not found", not_found)
    await report.check("panic", panic)
    if session.stderr() is not None:
        await report.check("stray print", stray_print)


async def patience(report: Report, session: Session) -> None:
    call = session.call

    async def progress() -> None:
        seen: list[tuple[float, float | None, str | None]] = []

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            seen.append((progress, total, message))

        result = await call("countdown", {"from": 5, "pause_ms": 5}, progress=on_progress)
        equal(text_of(result), "counted down from 5")
        equal(seen, [(at, 5, f"{5 - at} to go") for at in range(1, 6)])

    async def cancelled() -> int:
        return json.loads(text_of(await call("counter")))["cancelled"]

    async def cancellation() -> None:
        before = await cancelled()
        await session.cancelled_call("countdown", {"from": 1000, "pause_ms": 20})
        while await cancelled() == before:
            await call("slow", {"ms": 10})

    async def timeout() -> None:
        try:
            await call("hang", timeout_s=0.1)
        except Exception:
            equal(text_of(await call("echo", {"text": "alive"})), "alive")
        else:
            raise AssertionError("it did not time out")

    async def nobody_held_up() -> None:
        order: list[str] = []

        async def run(name: str, arguments: Object) -> None:
            await call(name, arguments)
            order.append(name)

        async with anyio.create_task_group() as group:
            group.start_soon(run, "slow", {"ms": 500})
            group.start_soon(run, "blocking", {"ms": 500})
            group.start_soon(run, "echo", {"text": "fast"})
        equal(order[0], "echo")

    await report.check("progress", progress)
    await report.check("cancellation", cancellation)
    await report.check("timeout", timeout)
    await report.check("slow calls hold up nobody", nobody_held_up)


async def resources(report: Report, session: Session) -> None:
    async def list_resources() -> None:
        listed = (await session.page("resources"))["resources"]
        readme = next(it for it in listed if it["uri"] == "demo://readme")
        equal(readme["annotations"], {"audience": ["user"], "priority": 0.8})
        text = (await session.read("demo://readme"))["text"]
        assert "Bowline" in text
        equal(readme["size"], len(text))

    async def read_bytes() -> None:
        picture = await session.read("demo://knot.png")
        equal(base64.b64decode(picture["blob"])[:4], b"\x89PNG")

    async def templates() -> None:
        listed = (await session.page("templates"))["resourceTemplates"]
        uris = [it["uriTemplate"] for it in listed]
        assert {"note:///{name}", "demo://books/{author}/{title}"} <= set(uris), uris
        await session.call("note_add", {"name": "first", "text": "rope"})
        equal((await session.read("note:///first"))["text"], "rope")
        equal((await session.read("demo://books/melville/typee"))["text"], "typee by melville, 1846")

    await report.check("list and read resources", list_resources)
    await report.check("read bytes", read_bytes)
    await report.check("templates", templates)


async def prompts(report: Report, session: Session) -> None:
    async def list_prompts() -> None:
        listed = (await session.page("prompts"))["prompts"]
        greet = next(it for it in listed if it["name"] == "greet")
        equal([(it["name"], it.get("required", False)) for it in greet["arguments"]], [("name", True), ("style", False)])

    async def get_prompts() -> None:
        greet = await session.prompt("greet", {"name": "Ada", "style": "nautical"})
        equal(greet["messages"][0]["content"]["text"], "Write a nautical greeting for Ada.")
        look = (await session.prompt("look"))["messages"]
        equal((look[0]["content"]["type"], look[2]["role"]), ("image", "assistant"))
        await session.call("note_add", {"name": "second", "text": "sail"})
        summarize = await session.prompt("summarize", {"name": "second"})
        equal(summarize["messages"][1]["content"]["resource"]["text"], "sail")

    async def completion() -> None:
        greet = {"type": "ref/prompt", "name": "greet"}
        book = {"type": "ref/resource", "uri": "demo://books/{author}/{title}"}
        equal(await session.complete(greet, "style", "f"), ["formal", "friendly"])
        equal(await session.complete(book, "author", "m"), ["melville"])
        equal(await session.complete(book, "title", "ty"), ["typhoon", "typee"])
        equal(await session.complete(book, "title", "ty", {"author": "melville"}), ["typee"])
        await refused(-32602, session.complete({"type": "ref/prompt", "name": "nothing"}, "x", ""))

    await report.check("list prompts", list_prompts)
    await report.check("get prompts", get_prompts)
    await report.check("completion", completion)


async def asking(report: Report, session: Session) -> None:
    call = session.call

    async def elicitation() -> None:
        equal(text_of(await call("ask_name")), "Hello, Ada!")
        survey = text_of(await call("ask_survey"))
        assert survey.endswith(": bowline, because: it holds"), survey
        session.declines = True
        try:
            equal(text_of(await call("ask_name")), "No name: decline.")
        finally:
            session.declines = False

    async def page() -> None:
        equal(text_of(await call("ask_url")), "The user's answer: accept")

    async def sampling() -> None:
        equal(text_of(await call("ask_model", {"question": "Why?"})), "model-1: Why? 42.")

    async def roots() -> None:
        equal(text_of(await call("list_roots")), "home: file:///home/ada\nfile:///tmp")

    await report.check("elicitation", elicitation)
    await report.check("elicitation by a page", page)
    await report.check("sampling", sampling)
    await report.check("roots", roots)


async def pages(report: Report, session: Session) -> None:
    async def pages() -> None:
        # A page has at most a hundred; all lists have fewer until the client adds to them.
        for _ in range(100):
            await session.call("plugin_add")
        names: list[str] = []
        cursor = None
        while True:
            page = await session.page("tools", cursor)
            names += [it["name"] for it in page["tools"]]
            cursor = page.get("nextCursor")
            if cursor is None:
                break
        assert len(names) > 100 and len(set(names)) == len(names), names
        assert "echo" in names and "plugin_100" in names
        for _ in range(100):
            await session.call("plugin_remove")

    await report.check("pages", pages)


# What the client answers when the server asks it.

KNOWN = {"name": "Ada", "age": 36, "weight": 61.5, "sails": True, "knot": "bowline", "why": "it holds"}


def elicited(params: Object, declines: bool) -> Object:
    if declines:
        return {"action": "decline"}
    if params.get("mode") == "url":
        return {"action": "accept"}
    fields = params["requestedSchema"]["properties"]
    return {"action": "accept", "content": {it: KNOWN[it] for it in fields}}


def sampled(params: Object) -> Object:
    content = params["messages"][0]["content"]
    content = content[0] if isinstance(content, list) else content
    answer = {"type": "text", "text": f"{content['text']} 42."}
    return {"role": "assistant", "model": "model-1", "content": answer}


ROOTS = {"roots": [{"uri": "file:///home/ada", "name": "home"}, {"uri": "file:///tmp"}]}
