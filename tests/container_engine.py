"""A container engine in small: the calls of Docker's HTTP interface that a runner needs, over a real socket.

What it starts is no container but a process behind bubblewrap, with the same borders: its own processes, no network, a
read-only system, and two folders that files are put into and taken from as tar archives.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit


class Container:
    def __init__(self, spec):
        self.spec = spec
        self.root = Path(tempfile.mkdtemp(prefix="engine-"))
        for name in ("skill", "work"):
            (self.root / name).mkdir()
        self.logs = bytearray()
        self.lock = threading.Lock()
        self.process = None

    def put(self, folder, data):
        target = self.root / folder.strip("/") if folder != "/" else self.root
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            archive.extractall(target, filter="data")
        for path in target.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)

    def take(self, folder):
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.add(self.root / folder.strip("/"), arcname=folder.strip("/"))
        return packed.getvalue()

    def start(self):
        words = [
            "prlimit",
            f"--as={4 * self.spec['HostConfig']['Memory']}",
            f"--data={self.spec['HostConfig']['Memory']}",
        ]
        words += ["--core=0", "--nofile=128", f"--fsize={16 << 20}"]
        words += ["bwrap", "--unshare-all", "--as-pid-1", "--new-session", "--cap-drop", "ALL", "--clearenv"]
        for path in ("/usr", "/bin", "/sbin", "/lib", "/lib64"):
            if Path(path).is_symlink():
                words += ["--symlink", str(Path(path).readlink()), path]
            elif Path(path).is_dir():
                words += ["--ro-bind", path, path]
        words += ["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache", "--proc", "/proc", "--dev", "/dev"]
        words += ["--ro-bind", str(self.root / "skill"), "/skill", "--bind", str(self.root / "work"), "/work"]
        words += ["--remount-ro", "/", "--chdir", self.spec["WorkingDir"]]
        for pair in ["PATH=/usr/bin:/bin", *self.spec["Env"]]:
            words += ["--setenv", *pair.split("=", 1)]
        given = self.root / "stdin"
        stdin = given.open("rb") if self.spec["OpenStdin"] else subprocess.DEVNULL
        self.process = subprocess.Popen(
            [*words, "--", *self.spec["Cmd"]],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PATH": os.environ["PATH"]},
        )
        if stdin is not subprocess.DEVNULL:
            stdin.close()
        self.readers = [
            threading.Thread(target=self._read, args=(number, pipe), daemon=True)
            for number, pipe in ((1, self.process.stdout), (2, self.process.stderr))
        ]
        for reader in self.readers:
            reader.start()

    def _read(self, number, pipe):
        with pipe:
            while data := os.read(pipe.fileno(), 1 << 16):
                with self.lock:
                    self.logs += bytes([number, 0, 0, 0]) + len(data).to_bytes(4, "big") + data

    def state(self):
        running = self.process.poll() is None
        if not running:
            for reader in self.readers:
                reader.join(5)
        return {"State": {"Running": running, "ExitCode": self.process.returncode or 0}}

    def kill(self):
        """Kill the first process inside: all others of its namespace go with it."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        for pid in children.read_text().split() if children.exists() else ():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), 9)
        self.process.kill()

    def remove(self):
        if self.process is not None:
            self.kill()
            self.process.wait()
            for reader in self.readers:
                reader.join(5)
        shutil.rmtree(self.root, ignore_errors=True)


class Engine:
    """Serves while the ``with`` block lasts."""

    def __enter__(self):
        self.containers, self.made = {}, 0
        engine = self

        class Handler(BaseHTTPRequestHandler):
            def do_any(self):
                size = int(self.headers.get("Content-Length") or 0)
                status, answer = engine.answer(self.command, self.path, self.rfile.read(size))
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = do_DELETE = do_any

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)
        for container in self.containers.values():
            container.remove()

    def answer(self, method, address, body):
        parts = urlsplit(address)
        if (method, parts.path) == ("POST", "/containers/create"):
            self.made += 1
            name = f"c{self.made}"
            self.containers[name] = Container(json.loads(body))
            return 201, {"Id": name}
        _, _, name, *rest = parts.path.split("/")
        container = self.containers.get(name)
        if container is None:
            return 404, {"message": "no such container"}
        path = parse_qs(parts.query).get("path", ["/"])[0]
        if method == "DELETE":
            self.containers.pop(name).remove()
            return 200, None
        calls = {
            ("PUT", "archive"): lambda: container.put(path, body),
            ("POST", "start"): container.start,
            ("POST", "kill"): container.kill,
            ("GET", "json"): container.state,
            ("GET", "logs"): lambda: bytes(container.logs),
            ("GET", "archive"): lambda: container.take(path),
        }
        return 200, calls[method, rest[0]]()
