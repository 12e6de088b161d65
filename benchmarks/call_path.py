"""Path of one event through the modules of a package, followed by a trace of its calls.

The trace has the calls of the package's functions and methods, in order. Properties, generated methods, comprehensions
and lambdas are not calls here. Consecutive calls into one module are one visit. A return is a visit to a module that
was visited before. A climb is a call into a module that imports the caller's module, directly or indirectly: a lower
layer calls a higher one.
"""

from __future__ import annotations

import ast
import asyncio
import sys
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

from benchmarks.handled import Collected, received
from chat_bridge.handlers import ChatHandler
from chat_bridge.parking import Parking
from chat_bridge.store_memory import MemoryMessageStore
from contracts.instants import DAY
from detector.detector import Detector
from detector.model import Message, Neighbourhood
from servicekit.clock import SystemClock
from servicekit.log.late_outcomes import LateOutcomes
from servicekit.log.messages import Message as Record

EXAMPLES = Path(__file__).parents[1] / "libs" / "contracts" / "examples"


class CallPath(NamedTuple):
    """Number of visits, climbs and returns, with the visited modules in order."""

    visits: int
    climbs: int
    returns: int
    modules: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.visits} visits, {self.climbs} climbs, {self.returns} returns: {' → '.join(self.modules)}"


def follow(run: Callable[[], object], package: str) -> CallPath:
    """Call `run` and return its path through the modules of the imported `package`."""
    folder = f"{Path(str(sys.modules[package].__file__)).parent}/"
    properties = set(_properties(package))
    calls: list[tuple[str, str | None]] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        inside = event == "call" and code.co_filename.startswith(folder)
        if inside and not code.co_name.startswith("<") and code not in properties:
            calls.append((_module(frame), _caller(frame, folder)))

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    imports = _imports(Path(folder), package)
    visits = [call for at, call in enumerate(calls) if at == 0 or call[0] != calls[at - 1][0]]
    modules = tuple(module.removeprefix(f"{package}.") for module, _ in visits)
    climbs = sum(caller is not None and caller in _below(module, imports) for module, caller in visits)
    return CallPath(len(modules), climbs, len(modules) - len(set(modules)), modules)


def _module(frame: FrameType) -> str:
    return str(frame.f_globals["__name__"])


def _caller(frame: FrameType, folder: str) -> str | None:
    """Return the calling module below `folder`, even if it called through other packages; None for the first call."""
    above = frame.f_back
    while above is not None and not above.f_code.co_filename.startswith(folder):
        above = above.f_back
    return _module(above) if above else None


def _properties(package: str) -> Iterator[CodeType]:
    """Yield the code objects of all properties of the package's classes."""
    for module in [module for name, module in sys.modules.items() if name.split(".")[0] == package]:
        for owner in [one for one in vars(module).values() if isinstance(one, type)]:
            for one in vars(owner).values():
                getter = one.func if isinstance(one, cached_property) else getattr(one, "fget", None)
                if isinstance(code := getattr(getter, "__code__", None), CodeType):
                    yield code


def _imports(folder: Path, package: str) -> dict[str, set[str]]:
    """Return the names that each of the package's modules imports, by module."""
    found: dict[str, set[str]] = {}
    for path in folder.rglob("*.py"):
        name = ".".join((package, *path.relative_to(folder).with_suffix("").parts)).removesuffix(".__init__")
        nodes = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.ImportFrom)]
        found[name] = {f"{node.module}{end}" for node in nodes for end in ("", *(f".{one.name}" for one in node.names))}
    return found


def _below(module: str, imports: dict[str, set[str]]) -> set[str]:
    """Return the package's modules that `module` imports, directly or indirectly."""
    below: set[str] = set()
    waiting = [module]
    while waiting:
        fresh = (imports[waiting.pop()] & imports.keys()) - below
        below |= fresh
        waiting += fresh
    return below


def path_of_reaction() -> CallPath:
    """Return a reaction's path through the bridge's handler, with an in-memory store and a known answer."""
    store, log, clock = MemoryMessageStore(), Collected(), SystemClock()
    handler = ChatHandler(store, log, Parking(store, log, clock, DAY, LateOutcomes("chat_bridge", log)), clock, 100)
    answer, reaction = (
        received(Record(topic, "key", (EXAMPLES / topic / "v1" / f"{example}.json").read_bytes()))
        for topic, example in (("chat.message.ingested", "agent"), ("chat.message.reaction.ingested", "added"))
    )
    asyncio.run(_handle(handler, answer))
    return follow(lambda: asyncio.run(_handle(handler, reaction)), "chat_bridge")


async def _handle(handler: ChatHandler, record: Any) -> None:
    await handler.handle([record])


def path_of_message() -> CallPath:
    """Return a message's path through the detector, after the detector has cached the message's texts."""
    minute = 60_000_000
    request = Message("m1", "t1", "human", "human", None, "Book the early train.", 0)
    answer = Message("m2", "t1", "agent", "agent", "agent", "Booked: the 9:40.", minute)
    message = Message("m3", "t2", "human", "human", None, "No, the other one.", 2 * minute)
    detector, item = Detector.default(), Neighbourhood((request, answer), message)
    detector.judge([item])
    return follow(lambda: detector.judge([item]), "detector")
