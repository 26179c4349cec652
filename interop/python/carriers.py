"""The demo server over HTTP. Each client has one of its own, so that it doesn't see what others change."""

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.streams.text import TextReceiveStream

from report import Report, equal


@asynccontextmanager
async def http_server(report: Report | None = None) -> AsyncIterator[str]:
    """Serves, and yields the URL. In the end the server has to leave when it is asked to."""
    command = [*sys.argv[1:], "--http", "0"]
    async with await anyio.open_process(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        assert server.stdout is not None
        try:
            # It prints the URL when it can be reached.
            line = ""
            async for text in TextReceiveStream(server.stdout):
                line += text
                if "\n" in line:
                    break
            yield line.strip()
        except BaseException:
            server.kill()
            raise

        async def ending() -> None:
            begin = time.monotonic()
            server.terminate()
            equal(await server.wait(), 0)
            assert time.monotonic() - begin < 2, "it took two seconds"

        if report is None:
            await ending()
        else:
            await report.check("the server ends when it is asked to", ending)


def ping_status(url: str, session_id: str) -> int:
    """The status of a ping in a session of 2025-11-25."""
    body = json.dumps({"jsonrpc": "2.0", "id": "x", "method": "ping"}).encode()
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-session-id": session_id,
        "mcp-protocol-version": "2025-11-25",
    }
    request = urllib.request.Request(url, data=body, headers=headers, method="POST")
    try:
        with urllib.request.urlopen(request) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code
