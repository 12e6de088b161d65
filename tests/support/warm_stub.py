"""Stand-in for the command `agent-feedback`: asks a warm server for a fork that runs the command.

    python -I -S warm_stub.py SOCKET ARGUMENT...

The fork has this process's arguments, environment, folder and standard streams. Signals are passed on to the fork. This
process ends as the fork ends; if this process is killed, the server kills the fork.
"""

import array
import json
import os
import signal
import socket
import sys

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


def main(path: str, arguments: list[str]) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
    request = json.dumps({"arguments": arguments, "environment": dict(os.environ), "folder": os.getcwd()}).encode()  # noqa: PTH109 # pathlib takes 20 ms to import
    server = socket.socket(socket.AF_UNIX)
    server.connect(path)
    streams = array.array("i", [0, 1, 2])
    header = len(request).to_bytes(4, "big")
    socket.send_fds(server, [header], streams)
    server.sendall(request)
    answers = server.makefile("r")
    fork = int(answers.readline())
    for number in FORWARDED:
        signal.signal(number, lambda given, _: os.kill(fork, given))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
    code = int(answers.readline())
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
