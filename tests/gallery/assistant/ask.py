"""Ask the server one question, or print the log: ask.py TOOL [ARGUMENT=VALUE]…, ask.py --log."""

import asyncio
import json
import sys
from pathlib import Path

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

LOG = "questions.jsonl"
SERVER = StdioServerParameters(
    command=sys.executable, args=["-m", "kanon_sql", "mcp", "kanon.yml", "--log", LOG], cwd="."
)


def given(arguments: list[str]) -> dict[str, object]:
    named = dict(each.split("=", 1) for each in arguments)
    return {name: [value] if name == "without" else value for name, value in named.items()}


async def ask(tool: str, arguments: dict[str, object]) -> None:
    async with Client(stdio_client(SERVER)) as client:
        answer = (await client.call_tool(tool, arguments)).structured_content
    answer.pop("not_shown", None)
    for name, value in answer.items():
        parts = value if isinstance(value, list) and value and isinstance(value[0], dict) else None
        print(f"{name}: {'' if parts else json.dumps(value)}".rstrip())
        for part in parts or ():
            print(f"  {json.dumps(part)}")


if sys.argv[1] == "--log":
    for line in Path(LOG).read_text().splitlines():
        call = json.loads(line)
        print(call["number"], call["tool"], json.dumps(call["arguments"]), call["outcome"])
else:
    asyncio.run(ask(sys.argv[1], given(sys.argv[2:])))
