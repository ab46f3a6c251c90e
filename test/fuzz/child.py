"""The process that runs programs: a crash or a hang takes it down, and nothing else.

`Child` is its side of the driver; the module itself, run as a program, serves requests on its standard input.
"""

from __future__ import annotations

import os
import pickle
import select
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from fuzz.execution import Outcome, generalized, run
from fuzz.program import Program
from fuzz.reference import InvalidProgram, Reference


class Child:
    """A process that runs one program at a time; made anew when it dies.

    Args:
        timeout: seconds per target.
        command: what is run; this module when omitted.
    """

    def __init__(self, timeout: float = 60.0, command: Sequence[str] = ()) -> None:
        self.timeout = timeout
        self.command = list(command) or [sys.executable, "-m", "fuzz.child"]
        self._process: subprocess.Popen[bytes] | None = None
        self._errors = tempfile.TemporaryFile()

    def _start(self) -> subprocess.Popen[bytes]:
        self._errors.close()
        self._errors = tempfile.TemporaryFile()
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]),
            "OMP_NUM_THREADS": "1",
            "TILEMLIR_NUM_THREADS": "2",
            "TILEMLIR_DISABLE_CACHE": "1",
        }
        return subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment,
        )

    def run(self, program: Program, target: str) -> Outcome | None:
        """What becomes of a program on a target; None when the description turns out to have no meaning."""
        if self._process is None:
            self._process = self._start()
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        data = pickle.dumps((program, target))
        try:
            process.stdin.write(struct.pack("<Q", len(data)) + data)
            process.stdin.flush()
            header = self._read(8)
            answer = self._read(struct.unpack("<Q", header)[0])
        except TimeoutError:
            self.close()
            return Outcome(target, "hang", "", f"no answer within {self.timeout} seconds", [], self.timeout)
        except (EOFError, BrokenPipeError):
            code = process.wait()
            text = self._error_text()
            self.close()
            return Outcome(target, "crash", _crash_reason(code, text), f"the process ended with {code}\n{text}")
        outcome: Outcome | None = pickle.loads(answer)
        if outcome is not None and outcome.target.startswith("gpu") and outcome.failed:
            self.close()  # an error may stay with the context
        return outcome

    def _read(self, count: int) -> bytes:
        assert self._process is not None and self._process.stdout is not None
        stream = self._process.stdout.fileno()
        parts = []
        while count:
            ready, _, _ = select.select([stream], [], [], self.timeout)
            if not ready:
                raise TimeoutError
            part = os.read(stream, count)
            if not part:
                raise EOFError
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def _error_text(self) -> str:
        self._errors.seek(0)
        return self._errors.read()[-6000:].decode(errors="replace")

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _crash_reason(code: int, text: str) -> str:
    for line in text.splitlines():
        if "Assertion" in line or "LLVM ERROR" in line or "UNREACHABLE" in line:
            return generalized(line)
    return f"exit {code}"


def serve() -> None:
    """Answers requests until the input ends."""
    answers = os.dup(1)
    os.dup2(2, 1)  # what kernels and libraries print must not get between the answers
    source = sys.stdin.buffer
    while True:
        header = source.read(8)
        if len(header) < 8:
            return
        program, target = pickle.loads(source.read(struct.unpack("<Q", header)[0]))
        outcome: Outcome | None
        try:
            reference = Reference(program)
            reference.run()
        except InvalidProgram:
            outcome = None
        else:
            outcome = run(program, target, reference)
        data = pickle.dumps(outcome)
        message = struct.pack("<Q", len(data)) + data
        while message:
            message = message[os.write(answers, message) :]


if __name__ == "__main__":
    serve()
