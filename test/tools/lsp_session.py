"""A minimal client of a language server on stdin and stdout: initialize, open a document, ask for a hover."""

import json
import subprocess
import sys


def frame(message):
    """The wire form of one JSON-RPC message."""
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def messages(stream):
    """The JSON-RPC messages of a byte stream."""
    while stream:
        header, _, rest = stream.partition(b"\r\n\r\n")
        length = int(dict(line.split(b": ") for line in header.split(b"\r\n"))[b"Content-Length"])
        yield json.loads(rest[:length])
        stream = rest[length:]


server, path = sys.argv[1:]
with open(path) as file:
    text = file.read()
lines = text.splitlines()
row = next(i for i, line in enumerate(lines) if "HOVER" in line) + 1
column = len(lines[row]) - len(lines[row].lstrip())
uri = "file:///session.mlir"
document = {"uri": uri, "languageId": "mlir", "version": 1, "text": text}
session = [
    {"id": 0, "method": "initialize", "params": {"processId": None, "capabilities": {}, "rootUri": None}},
    {"method": "initialized", "params": {}},
    {"method": "textDocument/didOpen", "params": {"textDocument": document}},
    {
        "id": 1,
        "method": "textDocument/hover",
        "params": {"textDocument": {"uri": uri}, "position": {"line": row, "character": column + 1}},
    },
    {"id": 2, "method": "shutdown"},
    {"method": "exit"},
]
done = subprocess.run([server], input=b"".join(map(frame, session)), capture_output=True, timeout=60)
for message in messages(done.stdout):
    if "method" in message:
        for diagnostic in message["params"].get("diagnostics", []):
            print("diagnostic:", diagnostic["message"])
    elif message["id"] == 0:
        print("hover provider:", message["result"]["capabilities"]["hoverProvider"])
    elif message["id"] == 1:
        print("hover:", (message["result"] or {}).get("contents", {}).get("value", "none").replace("\n", " "))
print("exit code:", done.returncode)
