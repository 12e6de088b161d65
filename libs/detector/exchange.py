"""A person's message with the answer that it is held against."""

from __future__ import annotations

from dataclasses import dataclass, replace

from detector.addressing import Address, addressed, in_scope, questions_of
from detector.model import Message, Neighbourhood


@dataclass(frozen=True, slots=True)
class Exchange:
    """The judged message, what stands before it in its thread, and the answer that it is addressed to.

    `candidates` are the agent messages that it may be about, oldest first; `requests` what those answer, one each.
    """

    message: Message
    before: tuple[Message, ...]
    address: Address
    candidates: tuple[Message, ...]
    requests: tuple[Message | None, ...]

    @classmethod
    def of(cls, item: Neighbourhood) -> Exchange:
        """Looks at the last `NEIGHBOURHOOD` messages of the message's thread only, whatever was handed in."""
        item = in_scope(item)
        questions = questions_of(item.before)
        answers = [(one, asked) for one, asked in zip(item.before, questions, strict=True) if one.role == "agent"]
        return cls(
            item.message,
            item.before,
            addressed(item, questions),
            tuple(one for one, _ in answers),
            tuple(asked for _, asked in answers),
        )

    def about(self, message_id: str) -> Exchange:
        """The same message held against an older answer."""
        place = next(place for place, one in enumerate(self.candidates) if one.message_id == message_id)
        address = Address(self.candidates[place], self.requests[place], "older_named")
        return replace(self, address=address)

    def next_word(self) -> Exchange | None:
        """The writer's first message after the answer, held against that answer; None where it is the judged one, or
        spoke to another answer.
        """
        if self.answered is None:
            return None
        since = self.before.index(self.answered)
        for place in range(since + 1, len(self.before)):
            one = self.before[place]
            if one.role == "human" and one.sender_id == self.message.sender_id:
                earlier = Exchange.of(Neighbourhood(self.before[:place], one))
                return earlier if earlier.answered == self.answered else None
        return None

    @property
    def request(self) -> str:
        """The text of the writer's own request that was answered, or nothing."""
        return self.address.request.text if self.address.request else ""

    @property
    def answered(self) -> Message | None:
        """The answer that the message is addressed to."""
        return self.address.answered

    @property
    def answer(self) -> str:
        """The text of that answer, or nothing."""
        return self.answered.text if self.answered else ""

    @property
    def aside(self) -> str | None:
        """What another person has said since, if the agent has not answered that."""
        return self.address.aside.text if self.address.aside else None

    @property
    def silence(self) -> int:
        """Microseconds since the agent's message; a clock that went backwards counts as none."""
        return max(0, self.message.at - self.answered.at) if self.answered else 0
