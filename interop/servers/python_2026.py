"""A server written with the newest official Python SDK. It speaks 2026-07-28, and the handshake
of those before it."""

import warnings
from typing import Annotated

import anyio
import mcp_types as types
from mcp.server import MCPServer
from mcp.server.caching import CacheHint
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Elicit, ListRoots, Resolve, Sample
from pydantic import BaseModel

# What 2026-07-28 has no longer is still there for the clients before it.
warnings.simplefilter("ignore")

NOTES = "note://all"
notes = ["first"]

mcp = MCPServer(
    "python-2026",
    version="1.0.0",
    instructions="Add numbers.",
    cache_hints={"prompts/list": CacheHint(ttl_ms=60_000, scope="public")},
)


class Sum(BaseModel):
    sum: float


class Name(BaseModel):
    name: str


@mcp.tool(title="Add", annotations=types.ToolAnnotations(read_only_hint=True, idempotent_hint=True))
def add(a: float, b: float) -> Sum:
    return Sum(sum=a + b)


@mcp.tool()
def fail() -> str:
    raise ToolError("as requested")


async def report(steps: int, ctx: Context) -> None:
    for step in range(1, steps + 1):
        await ctx.report_progress(step, steps, f"step {step}")


@mcp.tool()
async def wait(steps: int, ctx: Context) -> str:
    """Says how far it is, and ends when it is cancelled, or not at all."""
    await report(steps, ctx)
    await anyio.sleep_forever()


@mcp.tool()
async def count(steps: int, ctx: Context) -> str:
    await report(steps, ctx)
    return f"counted to {steps}"


@mcp.tool()
async def log(ctx: Context) -> str:
    await ctx.log("debug", "too little to tell")
    await ctx.log("warning", "look out", logger_name="watch")
    return "logged"


@mcp.tool()
async def write(note: str, ctx: Context) -> str:
    notes.append(note)
    await ctx.notify_resource_updated(NOTES)
    return f"{len(notes)} notes"


def grown() -> str:
    return "grown"


@mcp.tool()
async def grow(ctx: Context) -> str:
    mcp.add_tool(grown)
    await ctx.notify_tools_changed()
    return "there is one more"


# In 2026-07-28 questions are asked in the result; the SDK asks an older client by itself.


async def ask_name() -> Elicit[Name]:
    return Elicit("Who are you?", Name)


async def ask_model() -> Sample:
    question = types.TextContent(type="text", text="The capital of France?")
    return Sample([types.SamplingMessage(role="user", content=question)], max_tokens=10)


async def ask_roots() -> ListRoots:
    return ListRoots()


@mcp.tool()
async def greet(who: Annotated[Name, Resolve(ask_name)]) -> str:
    return f"hello {who.name}"


@mcp.tool()
async def think(thought: Annotated[types.CreateMessageResult, Resolve(ask_model)]) -> str:
    return f"{thought.model} says {thought.content.text}"


@mcp.tool()
async def where(roots: Annotated[types.ListRootsResult, Resolve(ask_roots)]) -> str:
    return " ".join(str(root.uri) for root in roots.roots)


@mcp.resource(NOTES, mime_type="text/plain")
def all_notes() -> str:
    return "\n".join(notes)


@mcp.resource("word://{word}")
def one_word(word: str) -> str:
    return f"the word {word}"


@mcp.prompt(title="Review")
def review(language: str) -> str:
    return f"Review this {language}."


@mcp.completion()
async def complete(ref, argument, context):
    is_prompt = isinstance(ref, types.PromptReference)
    choices = ["Python", "Rust", "TypeScript"] if is_prompt else ["knot", "knife", "rope"]
    return types.Completion(values=[choice for choice in choices if choice.startswith(argument.value)])


mcp.run()
