"""Fault injection within a service: kills it at given points, shifts its clock, makes dead letters fail, plants
bugs."""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from importlib import import_module
from typing import Any

from aiokafka.errors import KafkaTimeoutError

from proofs.chaos.plan import Plan, Point, plan_from
from proofs.chaos.planted import plant
from servicekit import launcher
from servicekit.clock import SystemClock
from servicekit.definition import ServiceDefinition
from servicekit.log.records import Message, Producer, Written
from servicekit.log.subscriber import Subscription
from servicekit.service import Service, ServiceContext


class Countdown:
    """Kills this process at the planned point."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._left = plan.die_after

    def passing(self, point: Point) -> None:
        if point != self._plan.die_at:
            return
        self._left -= 1
        if self._left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)


class ShiftedClock(SystemClock):
    def __init__(self, seconds: float) -> None:
        self._ahead = int(seconds * 1_000_000)

    def now(self) -> int:
        return super().now() + self._ahead


class FaultyProducer:
    """Producer that may kill the process around a publish, or fail to write a dead letter."""

    def __init__(self, inner: Producer, countdown: Countdown, refuse_letters: float) -> None:
        self._inner = inner
        self._countdown = countdown
        self._refuse = refuse_letters

    async def send(self, messages: Sequence[Message]) -> Sequence[Written]:
        letters = any(message.topic.endswith(".dlq") for message in messages)
        if letters and random.random() < self._refuse:
            raise KafkaTimeoutError("a fault of the harness")
        if messages and not letters:
            self._countdown.passing("before_publish")
        written = await self._inner.send(messages)
        if messages and not letters:
            self._countdown.passing("after_publish")
        return written


class InsideFaults:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._countdown = Countdown(plan)

    def surround(self, context: ServiceContext) -> ServiceContext:
        return replace(
            context,
            clock=self._clock() or context.clock,
            wrap_producer=lambda inner: FaultyProducer(inner, self._countdown, self._plan.refuse_letters),
        )

    def _clock(self) -> SystemClock | None:
        return ShiftedClock(self._plan.clock_ahead) if self._plan.clock_ahead else None

    def arm(self, service: Service) -> None:
        for subscription in service.subscriptions:
            self._watch(subscription)
        if self._plan.bug is not None:
            plant(self._plan.bug, service)

    def _watch(self, subscription: Subscription) -> None:
        commit, revoked = subscription._commit, subscription.on_partitions_revoked

        async def watched_commit(*arguments: Any) -> bool:
            self._countdown.passing("before_commit")
            return await commit(*arguments)

        async def watched_revoked(partitions: Any) -> None:
            if partitions:
                self._countdown.passing("in_rebalance")
            await revoked(partitions)

        own: Any = vars(subscription)
        own.update(_commit=watched_commit, on_partitions_revoked=watched_revoked)


class FaultyDefinition(ServiceDefinition[Any]):
    """A service's page with the faults of this process's plan in the service that it builds."""

    async def build(self, settings: Any, context: ServiceContext) -> Service:
        faults = InsideFaults(plan_from(os.environ))
        service = await super().build(settings, faults.surround(context))
        faults.arm(service)
        return service


def main() -> None:
    """Run the service that the first argument names, as `python -m SERVICE` does, with planned faults."""
    page: ServiceDefinition[Any] = import_module(f"{sys.argv.pop(1)}.service").PROGRAM
    launcher.main(FaultyDefinition(**{one.name: getattr(page, one.name) for one in fields(page)}))


if __name__ == "__main__":
    main()
