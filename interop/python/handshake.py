"""What there is only with a handshake: up to 2025-11-25."""

from typing import Any

from features import text_of
from report import Report, equal


async def handshake(report: Report, session: Any) -> None:
    call, heard = session.call, session.heard

    async def ping() -> None:
        equal(await session.ping(), {})

    async def logging() -> None:
        await session.set_level("warning")
        heard.forget()
        equal(text_of(await call("log", {"level": "info", "text": "quiet"})), "not sent: this level was not requested")
        equal(text_of(await call("log", {"level": "error", "text": "loud"})), "sent")
        message = await heard.next("notifications/message")
        equal((message["level"], message["data"]), ("error", "loud"))

    async def subscription() -> None:
        uri = "demo://counter"
        await session.subscribe(uri)
        heard.forget()
        await call("increment", {"by": 3})
        equal((await heard.next("notifications/resources/updated"))["uri"], uri)
        await session.unsubscribe(uri)
        await call("increment")
        await call("slow", {"ms": 50})
        equal(heard.count("notifications/resources/updated"), 0)
        equal((await session.read(uri))["text"], "4")

    async def lists() -> None:
        heard.forget()
        await call("plugin_add")
        await heard.next("notifications/tools/list_changed")
        assert "plugin_1" in [it["name"] for it in (await session.page("tools"))["tools"]]
        await call("plugin_remove")
        await heard.next("notifications/tools/list_changed")
        await call("note_add", {"name": "third", "text": "x"})
        await heard.next("notifications/resources/list_changed")

    async def roots() -> None:
        await session.roots_changed()
        await session.ping()

    await report.check("ping", ping)
    await report.check("logging", logging)
    await report.check("subscription", subscription)
    await report.check("lists that change", lists)
    await report.check("roots that change", roots)
