"""A person's message with the answer that it is judged against."""

from __future__ import annotations

from dataclasses import dataclass, replace

from detector.addressing import Address, addressed, in_scope, questions_of
from detector.model import Message, Neighbourhood


@dataclass(frozen=True, slots=True)
class Exchange:
    """The judged message, the messages before it in its thread, and the answer that it is addressed to.

    `candidates` are the agent messages that it may be about, oldest first; `requests` are the questions that they
    answer, one for each candidate.
    """

    message: Message
    before: tuple[Message, ...]
    address: Address
    candidates: tuple[Message, ...]
    requests: tuple[Message | None, ...]

    @classmethod
    def of(cls, item: Neighbourhood) -> Exchange:
        """Build the exchange from the last `NEIGHBOURHOOD` messages of the message's thread; ignore all others."""
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
        """Return the same message judged against the candidate `message_id`."""
        place = next(place for place, one in enumerate(self.candidates) if one.message_id == message_id)
        address = Address(self.candidates[place], self.requests[place], "older_named")
        return replace(self, address=address)

    def next_word(self) -> Exchange | None:
        """Return the writer's first message after the answer as an exchange of its own.

        None if that is the judged message, if it was addressed to another answer, or if there is no answer.
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
        """Text of the question behind the answer; empty if unknown or if the answer is not to the writer."""
        return self.address.request.text if self.address.request else ""

    @property
    def answered(self) -> Message | None:
        """Answer that the message is judged against, or None."""
        return self.address.answered

    @property
    def answer(self) -> str:
        """Text of the answer, or an empty text."""
        return self.answered.text if self.answered else ""

    @property
    def aside(self) -> str | None:
        """Text of another person's message since the answer that no agent has answered, or None."""
        return self.address.aside.text if self.address.aside else None

    @property
    def silence(self) -> int:
        """Microseconds from the answer to the message; 0 without an answer or if the clock went backwards."""
        return max(0, self.message.at - self.answered.at) if self.answered else 0
