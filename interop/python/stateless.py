"""What there is only without a handshake: since 2026-07-28."""

from typing import Any

from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated, ToolsListChanged

from features import text_of
from report import Report, equal

LOG_LEVEL = "io.modelcontextprotocol/logLevel"


async def stateless(report: Report, session: Any) -> None:
    call, heard, client = session.call, session.heard, session.client

    async def discovery() -> None:
        discovered = client.session.discover_result
        assert "2026-07-28" in discovered.supported_versions
        assert discovered.ttl_ms >= 0 and discovered.cache_scope in ("public", "private")

    async def caching() -> None:
        for kind in ["tools", "resources", "templates", "prompts"]:
            listed = await session.page(kind)
            assert listed["ttlMs"] >= 0 and listed["cacheScope"] in ("public", "private")

    async def logging() -> None:
        heard.forget()
        equal(text_of(await call("log", {"level": "emergency", "text": "x"})), "not sent: this level was not requested")
        wanted = {LOG_LEVEL: "warning"}
        equal(text_of(await call("log", {"level": "info", "text": "x"}, meta=wanted)), "not sent: this level was not requested")
        equal(text_of(await call("log", {"level": "error", "text": "loud"}, meta=wanted)), "sent")
        equal((await heard.next("notifications/message"))["data"], "loud")
        equal(heard.count("notifications/message"), 0)

    async def subscription() -> None:
        uri = "demo://counter"
        async with client.listen(resource_subscriptions=[uri]) as subscription:
            equal(subscription.honored.resource_subscriptions, [uri])
            await call("increment", {"by": 3})
            equal(await anext(subscription), ResourceUpdated(uri=uri))
        # The SDK says that it has left at some time after it has; by an answer to a call it did.
        await call("slow", {"ms": 10})
        heard.forget()
        await call("increment")
        await call("slow", {"ms": 50})
        equal(heard.count("notifications/resources/updated"), 0)

    async def lists() -> None:
        async with client.listen(tools_list_changed=True, resources_list_changed=True) as subscription:
            await call("plugin_add")
            equal(await anext(subscription), ToolsListChanged())
            assert "plugin_1" in [it["name"] for it in (await session.page("tools"))["tools"]]
            await call("plugin_remove")
            equal(await anext(subscription), ToolsListChanged())
            await call("note_add", {"name": "third", "text": "x"})
            equal(await anext(subscription), ResourcesListChanged())

    await report.check("discovery", discovery)
    await report.check("caching hints", caching)
    await report.check("logging", logging)
    await report.check("subscription", subscription)
    await report.check("lists that change", lists)
