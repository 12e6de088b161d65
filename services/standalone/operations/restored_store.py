"""Repair of the revisions in a feedback store that was restored from a backup, by comparison with the ledger."""

from __future__ import annotations

from dataclasses import replace

from feedback.model import Record
from feedback.store import Save, Store
from feedback.writer import announcement
from servicekit.log.cluster import Bootstrap
from standalone.operations.ledger import Ledger, fault_of, read_on


async def raise_above_ledger(store: Store, bootstrap: Bootstrap) -> int:
    """Raise the revisions of records whose next announcement consumers would ignore.

    Consumers ignore announcements whose revision is not higher than that of an earlier one. After a restore, a record
    may have a lower revision than its last announcement, even if the services have read its events again: each write
    increases the revision once, and a write may now combine several events.

    Nothing is announced. Services may keep running. Returns the number of raised revisions.
    """
    ledger = Ledger()
    await read_on(bootstrap, ledger)
    raised = 0
    async for records in store.scan():
        open_ids = {record.feedback_id: record for record in records}
        while open_ids:
            saves = [
                Save(replace(record, revision=revision), record.revision)
                for record in open_ids.values()
                if (revision := revision_above(ledger, record)) != record.revision
            ]
            saved = (await store.save(saves)).ids
            raised += len(saved)
            lost = {save.record.feedback_id for save in saves} - saved
            reloaded = await store.load(lost) if lost else {}
            open_ids = {id_: record for id_, record in reloaded.items() if not record.forgotten}
    return raised


def revision_above(ledger: Ledger, record: Record) -> int:
    """Return the revision that a record needs so that consumers accept its next announcement.

    This is the record's current revision if that is sufficient, otherwise the highest revision in the ledger plus one.
    """
    id_ = record.feedback_id
    latest, ended = ledger.highest.get(id_), ledger.ended.get(id_, 0)
    if latest is None:
        return record.revision if record.revision > ended else ended + 1
    agrees = latest.revision < record.revision or fault_of(record) or latest == announcement(record)
    return record.revision if agrees else max(latest.revision, ended) + 1
