"""Shards that every statement uses if tables are distributed by tenant, as in a Citus cluster (docs/scaling.md).

PostgreSQL plans the statements on tables that are hash-partitioned by tenant. A statement that no table below names
uses the shard of one tenant.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from typing import Final

import asyncpg
import pytest
import pytest_asyncio

from reporting.sql import SQL as REPORTING
from servicekit.db.statements import Statement
from tests.support.databases import new_database
from tests.support.sharded import Shards, distribute, own_shard, shards_of
from tests.tables.test_statements import AT, FOLDERS, QUERIES, ROOT, Folder, filled

PAGE: Final = ROOT / "docs" / "scaling.md"
NOT_DISTRIBUTED: Final = {
    "inference": {"gate_answers"},
    "reporting": {"accounts", "api_keys", "alerts", "alert_messages", "alert_rules", "alert_digests"},
}
"""Small tables with a tenant that stay on one node. Those without the column are not distributed either."""
KEYS_WITHOUT_TENANT: Final = {
    "feedback": {"aggregated_verdicts", "aggregates", "feedback"},
    "inference": {"user_reactions"},
    "reporting": {
        *(
            "deliveries",
            "feedbacks",
            "hosted_artifacts",
            "issues",
            "replies",
            "resolution_notices",
            "suspect_decisions",
        ),
    },
}
"""Tables whose primary key must get the tenant before they can be distributed."""
TENANTS_OF_ROWS: Final = {
    "chat_bridge": "count_parked_by_tenant find_messages index_messages note_refused park parked_under place_copies "
    "released_by rewrite_parked unpark",
    "feedback": "aggregates_of_turns find_turns mark_aggregated_turns mark_ratings_announced note_erasure_receipts "
    "note_erasure_requests records_on_turns unmark_aggregated_turns upsert_turns verdicts_on_aggregated_turns",
    "inference": "index_messages is_outdated keep_answers messages_around note_emissions places_of_messages take_turns "
    "update_user_status",
    "reporting": "count_days count_hours delete_days delete_hours delete_stale_marks hold_receipts hosted_artifacts "
    "insert_artifacts insert_server minutes_worth_a_look reaction_artifacts turn_log_artifacts",
}
"""Batches: each row names its tenant."""
EVERY_SHARD: Final[Mapping[str, Mapping[str, str]]] = {
    "chat_bridge": {
        "periodic work on due rows of all tenants": "expired releasable waited_for",
        "size limit of a whole table": "delete_oldest_refused",
        "metric or start-up check of the whole store": "count_parked has_parked",
    },
    "feedback": {
        "periodic work on due rows of all tenants": "due_aggregated_turns unannounced_aggregates unannounced_ratings",
        "retention": "delete_full_buckets",
        "look-up by id only": "erase_aggregated_verdicts load_records lock_aggregated_verdicts "
        "mark_aggregates_announced find_changes save_records",
        "command on the whole store": "count_records scan_records",
        "check across tenants": "only_tenants_of_conversations",
    },
    "inference": {
        "command on the whole store": "count_to_judge page_to_judge",
        "look-up by id only": "delete_reactions turns_of_reactions",
    },
    "reporting": {
        "periodic work on due rows of all tenants": "agents_with_uncounted_people artifacts_to_delete "
        "changed_givers changed_rejections claim_deliveries due_hours has_changed_turns held_receipts "
        "issues_without_centre claim_untitled_issue drop_unfounded_sentences mark_hours_without_copies "
        "stale_hosted_turns stale_turns unannounced_notices waiting_agents writers_of_stale_hours",
        "look-up by id only": "copy_answers delete_changed_givers delete_counts delete_delivered delete_empty_issues "
        "delete_receipts delete_rejection_changes delete_stale_turns describe_issue drop_deliveries "
        "mark_notices_announced mark_outdated mark_suspects mark_written note_deleted note_failure note_well_received",
        "erasure by ids of found rows": "delete_deliveries_of_person delete_feedbacks_of_person "
        "delete_issue_turns_of_person delete_notices_of_person delete_suspect_changes_of_person",
        "command on the whole store": "adopt_rows count_all delete_marks drop_rejection_changes end_of_range "
        "look_at_suspects_again mark_all_hours mark_range mark_rest seed_rejection_changes",
        "metric or start-up check of the whole store": "count_artifacts_waiting has_feedback has_hosted",
        "read for a caller of all tenants": "list_projects newest_access",
    },
}
"""Statements that use every shard, by reason."""
NEED_A_KEY: Final = {
    "feedback": "upsert_aggregated_verdicts upsert_aggregates",
    "inference": "take_reactions",
    "reporting": "apply_batch decide_suspects insert_notices upsert_deliveries",
}
"""Statements that name one of KEYS_WITHOUT_TENANT."""
REBUILD: Final = "_rebuilt"
"""In the text of statements on the copies of tables that a rebuild makes: these are not distributed."""
by_folder = pytest.mark.parametrize("folder", FOLDERS[:4], ids=lambda folder: folder.path)
Found = Mapping[str, Mapping[str, Shards]]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def shards(postgres_url: str) -> AsyncIterator[tuple[Found, Mapping[str, set[str]]]]:
    """Yield the shards of each service's statements by name, and its tables with keys that lack the tenant."""
    found: dict[str, dict[str, Shards]] = defaultdict(dict)
    refused = {}
    for folder in FOLDERS[:4]:
        (service,) = folder.schemas
        async with AsyncExitStack() as parts:
            url = await parts.enter_async_context(new_database(postgres_url, service))
            connection = await asyncpg.connect(url)
            parts.push_async_callback(connection.close)
            refused[service] = {*await distribute(connection, service, NOT_DISTRIBUTED.get(service, ()))}
            own = await own_shard(connection)
            for statement in _statements(folder):
                used = await shards_of(connection, statement, own)
                found[service][statement.name] = max(used, found[service].get(statement.name, Shards.NONE))
    yield found, refused


def _statements(folder: Folder) -> list[Statement]:
    """Return the folder's statements and queries with SQL in their slots."""
    given = [one for statement in folder.statements for one in filled(statement) if REBUILD not in one.text]
    if folder.statements is REPORTING:
        for text, *values in QUERIES:
            names = tuple("tenant" if value == AT.tenant else "value" for value in values)
            given.append(Statement("search", text, (), names))
    return given


def _classes(service: str) -> dict[str, Shards]:
    """Return the class of each statement that the tables name."""
    every = " ".join(EVERY_SHARD[service].values())
    return {
        **dict.fromkeys(TENANTS_OF_ROWS[service].split(), Shards.ROWS),
        **dict.fromkeys(every.split(), Shards.ALL),
        **dict.fromkeys(NEED_A_KEY.get(service, "").split(), Shards.BLOCKED),
    }


@by_folder
def test_a_statement_uses_the_shards_of_its_class(folder: Folder, shards: tuple[Found, object]) -> None:
    (service,) = folder.schemas
    others = {name: used for name, used in shards[0][service].items() if used > Shards.TENANT}
    assert others == _classes(service), "change the statement, the tables above or docs/scaling.md"


@by_folder
def test_the_other_tables_have_the_tenant_in_every_key(
    folder: Folder, shards: tuple[Found, Mapping[str, set[str]]]
) -> None:
    (service,) = folder.schemas
    assert shards[1][service] == KEYS_WITHOUT_TENANT.get(service, set())


def test_the_page_names_every_class() -> None:
    page = PAGE.read_text("utf-8")
    reasons = {reason for of_service in EVERY_SHARD.values() for reason in of_service}
    assert [reason for reason in sorted(reasons) if f"| {reason} |" not in page] == []
    tables = {f"`{service}.{table}`" for service, found in KEYS_WITHOUT_TENANT.items() for table in found}
    assert [table for table in sorted(tables) if table not in page] == []
    names = " ".join(text for of_service in EVERY_SHARD.values() for text in of_service.values())
    assert f"{len(names.split())} statements" in page
