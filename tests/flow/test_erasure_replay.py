"""Dead letters that are replayed after their writer's erasure: their content is stored nowhere."""

from __future__ import annotations

from dataclasses import replace

from contracts.headers import LOG_TIME
from contracts.instants import MINUTE, format_instant
from contracts.topics import CHAT_TOPICS
from servicekit.clock import SystemClock
from servicekit.log.outcome import ERASED, Outcome
from standalone.operations.dlq import Filter, letters, replay
from tests.support.erasures import erased
from tests.support.running_stack import exchange, message, running_stack


class Forward(SystemClock):
    """System clock that runs ahead; the in-memory log has only its reader's time."""

    ahead = 0

    def now(self) -> int:
        return super().now() + self.ahead


async def test_what_a_replayed_letter_says_is_as_old_as_its_first_record(postgres_url: str) -> None:
    clock = Forward()
    async with running_stack(postgres_url, lambda around: replace(around, clock=clock)) as stack:
        soon = format_instant(clock.now() + 20 * MINUTE)
        words = {"eve": "my secret", "bob": "my question"}
        await stack.publish(
            *exchange("c1", "t1"),
            *(message(f"m-{who}", "c1", senderId=who, content=said, occurredAt=soon) for who, said in words.items()),
        )
        await stack.quiet()
        assert await erased(stack, "eve")
        clock.ahead = 30 * MINUTE
        stack.seen.clear()
        wanted = Filter(reason="future")
        sent = await replay(letters(stack.broker.bootstrap, wanted), stack.stack.log)
        assert sent["sent"] == 2
        await stack.quiet()
        outcomes = {one.outcome for one in stack.seen if one.group == "reporting"}
        assert outcomes == {ERASED, Outcome.STORED}
        for table, column in (("reporting.messages", "content"), ("inference.messages", "text")):
            held = {row[0] for row in await stack.rows(f"select {column} from {table}")}
            assert words["bob"] in held, "its time has come, and nobody asked for bob to be erased"
            assert words["eve"] not in held


async def test_a_letter_of_a_letter_keeps_the_first_time(postgres_url: str) -> None:
    clock = Forward()
    async with running_stack(postgres_url, lambda around: replace(around, clock=clock)) as stack:
        began = clock.now()
        far = format_instant(clock.now() + 600 * MINUTE)
        await stack.publish(message("m1", "c1", occurredAt=far))
        for minutes in (0, 30, 60):
            clock.ahead = minutes * MINUTE
            if minutes:
                await replay(letters(stack.broker.bootstrap, Filter()), stack.stack.log)
            await stack.quiet()
        assert [one for one in stack.seen if one.outcome == Outcome.dead_lettered("future")]
        found = [letter async for letter in letters(stack.broker.bootstrap, Filter(topic=CHAT_TOPICS[0].name))]
        assert len(found) == 3
        first_logged = {int(dict(letter.headers)["timestamp"]) for letter in found}
        assert len(first_logged) == 1
        assert began <= first_logged.pop() <= SystemClock().now()
        assert LOG_TIME not in {name for letter in found for name, _ in letter.headers}
