"""Selection of the messages to judge after messages were added or changed. No I/O.

A verdict depends on the `NEIGHBOURHOOD` messages before the judged message, in the order of their positions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from contracts.exchange import answer_of_turn, question_of
from contracts.message_fields import MessageKey
from detector.addressing import exchange_message
from detector.model import NEIGHBOURHOOD, Neighbourhood
from inference.model import IndexedMessage, Scope
from inference.turns.facts import Facts, answered


@dataclass(frozen=True, slots=True)
class MessageRange:
    """Consecutive messages of a thread or channel, some of which must be judged.

    Attributes:
        rows: The messages in order. All messages that a dependent message relies on are included; others may be
            missing.
        dependent: Indexes of the messages whose verdict or question may have changed.
    """

    rows: Sequence[IndexedMessage]
    dependent: Sequence[int]

    def before(self, number: int) -> Sequence[IndexedMessage]:
        """Return the messages that the verdict on the message at index `number` depends on."""
        return self.rows[max(0, number - NEIGHBOURHOOD) : number]

    def to_judge(self) -> list[tuple[IndexedMessage, Sequence[IndexedMessage]]]:
        """Return people's messages to judge, each with the messages before it."""
        people = (number for number in self.dependent if self.rows[number].message.role == "human")
        return [(self.rows[number], self.before(number)) for number in people]

    def questions(self) -> list[Facts]:
        """Find the question of each turn to which a dependent message belongs.

        It is the question of the turn's last answer in the range. If the answer has no question any more, the facts say
        so, unless the question may be outside of the range.
        """
        parts = [exchange_message(row.message, number) for number, row in enumerate(self.rows)]
        numbers = {part.message_id: number for number, part in enumerate(parts)}
        dependent = {parts[number].turn_id for number in self.dependent}
        turns = defaultdict(list)
        for part in parts:
            if part.turn_id in dependent:
                turns[part.turn_id].append(part)
        questions: list[Facts] = []
        for turn_id, members in turns.items():
            if (answer := answer_of_turn(members)) is None:
                continue
            last = numbers[answer.message_id]
            question = question_of(answer, parts[max(0, last - NEIGHBOURHOOD) : last])
            if question is not None:
                questions.append(answered(self.rows[last], self.rows[numbers[question.message_id]]))
            elif turn_id == answer.message_id or any(member.is_person for member in members):
                questions.append(answered(self.rows[last], None))
        return questions


def neighbourhood(message: IndexedMessage, before: Sequence[IndexedMessage]) -> Neighbourhood:
    """Return a message and the messages before it as the detector reads them."""
    return Neighbourhood(tuple(row.message for row in before), message.message)


def message_ranges(
    scopes: Mapping[Scope, Sequence[IndexedMessage]], changed: Collection[MessageKey], *, after: int = NEIGHBOURHOOD
) -> list[MessageRange]:
    """Return one range for each thread or channel, with the messages to judge after the messages `changed`.

    These are the changed messages and the `after` messages after each of them. The root message of a thread is in the
    channel, so messages of the thread do not affect its verdict.
    """
    ranges = []
    for scope, rows in scopes.items():
        dependent: set[int] = set()
        for number, row in enumerate(rows):
            if row.key in changed:
                dependent.update(range(number, min(len(rows), number + after + 1)))
        ranges.append(MessageRange(rows, [n for n in sorted(dependent) if rows[n].thread == scope.thread]))
    return ranges
