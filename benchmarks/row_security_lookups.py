"""Queries and rows of inference and feedback for `row_security.py`."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import feedback.store_choice
import inference.parts
from agent_feedback_kit.sessions.record import opaque
from contracts.instants import DAY
from detector.encoders.embedder import WordLlamaEmbedder
from detector.model import NEIGHBOURHOOD
from feedback.erasure_status import PostgresErasureStatuses
from feedback.registry import TurnKey as RegistryKey
from feedback.registry_postgres import PostgresRegistry
from feedback.sessions_postgres import PostgresSessions
from inference.store import ConversationKey, Place
from inference.store_postgres import PostgresConversationStore
from inference.turns.rules import TurnKey
from inference.turns.search_postgres import PostgresTurnSearch
from inference.turns.store import PersonTurns, StrategyFilter
from inference.turns.vectors import DIMENSION, TurnVectors
from servicekit.db.database import Database

Ask = Callable[[Database], Awaitable[Any]]
START: Final = 1_760_000_000_000_000
SAID: Final = "No, that is wrong: I asked for the museum."
HERE: Final = ("acme", "support", "c-7")
_VECTORS: Final = TurnVectors(WordLlamaEmbedder())


@dataclass(frozen=True, slots=True)
class Asked:
    """Reads of a service. `fill` has statements that take a number of rows and a time, and insert the rows to read."""

    schema: str
    migrations: Path
    fill: Sequence[str]
    questions: Mapping[str, Ask]


_ROWS: Final = """
    (array['acme', 'globex'])[1 + n % 2] as tenant, (array['support', 'sales'])[1 + n / 2 % 2] as project,
    'c-' || n / 4 % ($1 / 40) as conversation_id, 't-' || n as turn_id, 'user-' || n % ($1 / 100) as user_id,
    $2::bigint + (n::bigint * 7919 % $1) * (90 * 86400000000 / $1) as at
from generate_series(1, $1::int) n
"""
_VERSION: Final = "'\\x02'::bytea || int8send(at)"
_NUMBERS: Final = random.Random(1)
_VECTOR: Final = ",".join(f"{_NUMBERS.gauss(0, 0.0625):.4f}" for _ in range(DIMENSION))

INFERENCE: Final = Asked(
    "inference",
    inference.parts.MIGRATIONS,
    (
        f"""insert into turns (tenant, project, conversation_id, turn_id, user_id, user_message_id, user_text,
                user_version, agent_id, agent_message_id, assistant_text, assistant_version, intent, strategy,
                quality_score, at, user_vector, assistant_vector, user_embedder, assistant_embedder)
            select tenant, project, conversation_id, turn_id, user_id, 'q-' || turn_id, 'what was asked ' || turn_id,
                {_VERSION}, 'bot', 'a-' || turn_id, 'what was answered ' || turn_id, {_VERSION}, 'intent' || n % 20,
                case when n % 4 < 2 then 'strategy' || n % 7 end, n % 100 / 100.0, at,
                turn_vector(array[{_VECTOR}]::real[]), turn_vector(array[{_VECTOR}]::real[]),
                {_VECTORS.made_by}, {_VECTORS.made_by}
            from (select n, {_ROWS}) made""",
        f"""insert into messages (tenant, project, message_id, conversation_id, turn_id, sender_id, role, agent_id,
                text, at, version)
            select tenant, project, (array['q-', 'a-'])[side] || turn_id, conversation_id, turn_id,
                case when side = 1 then user_id else 'bot' end, (array['human', 'agent'])[side],
                case when side = 2 then 'bot' end, 'what was said ' || turn_id, at + side, {_VERSION}
            from (select n, {_ROWS}) made, generate_series(1, 2) side""",
    ),
    {
        "turn": lambda pool: _turns(pool).find(TurnKey(*HERE, "t-28")),
        "latest turns": lambda pool: _turns(pool).latest(ConversationKey(*HERE), START + 90 * DAY, 10),
        "turns nearby": lambda pool: _turns(pool).nearby(
            PersonTurns("acme", "support", "user-8", START, START + 90 * DAY), SAID
        ),
        "strategies of an intent": lambda pool: _turns(pool).search(
            StrategyFilter("acme", "support", intent="intent4"), 10
        ),
        "strategies of a person": lambda pool: _turns(pool).search(
            StrategyFilter("acme", "support", user_id="user-8"), 10
        ),
        "strategies, a question": lambda pool: _turns(pool).search(StrategyFilter("acme", "support", text=SAID), 10),
        "messages before": lambda pool: PostgresConversationStore(pool).around(
            [Place(ConversationKey(*HERE), START + 80 * DAY, "m")], NEIGHBOURHOOD + 1
        ),
    },
)

FEEDBACK: Final = Asked(
    "feedback",
    feedback.store_choice.MIGRATIONS,
    (
        f"""insert into turns (tenant, project, conversation_id, turn_id, agent_id, agent_message_id, answer_version,
                user_id, user_at)
            select tenant, project, conversation_id, turn_id, 'bot', 'a-' || turn_id, {_VERSION}, user_id, at
            from (select n, {_ROWS}) made""",
        f"""insert into people (tenant, project, user_id, user_type, version)
            select distinct on (user_id, tenant, project) tenant, project, user_id, 'paid', {_VERSION}
            from (select n, {_ROWS}) made""",
        """insert into session_feedback (tenant, id, session_id_opaque, recorded_at, label, turn_count_at_end, source,
                schema_version)
            select (array['acme', 'globex'])[1 + n % 2], gen_random_uuid(),
                encode(sha256(convert_to('c-' || n / 4 % ($1 / 40), 'UTF8')), 'hex'),
                to_timestamp($2::bigint / 1e6 + n),
                'positive', 3, 'api_end', 1
            from generate_series(1, $1::int) n""",
        """insert into erasure_requests (tenant, request_id, user_id, requested_at)
            select (array['acme', 'globex'])[1 + n % 2], 'r-' || n, 'user-' || n, $2::bigint
            from generate_series(1, $1::int / 100) n""",
    ),
    {
        "registered turn, and a person's role": lambda pool: PostgresRegistry(pool).find(
            RegistryKey(*HERE, "t-28"), "user-8"
        ),
        "turns of a thread": lambda pool: PostgresRegistry(pool).count("acme", None, "c-7"),
        "ratings of a thread": lambda pool: PostgresSessions(pool).alist_by_session(opaque("c-7"), tenant="acme"),
        "status of an erasure": lambda pool: PostgresErasureStatuses(pool).find("acme", "r-4"),
    },
)


def _turns(pool: Database) -> PostgresTurnSearch:
    return PostgresTurnSearch(pool, _VECTORS)
