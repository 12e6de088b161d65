"""Counting of record outcomes, and their delivery to observers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from contracts.topics import Consumer
from servicekit import metrics
from servicekit.log.outcome import Observation, Observer, Outcome
from servicekit.log.record_ids import ids_of
from servicekit.log.records import RawRecord, cause_of


def observe(observers: Sequence[Observer], observation: Observation) -> None:
    """Count an outcome and pass it to all observers."""
    outcome = observation.outcome
    metrics.RECORDS.labels(observation.group, observation.topic, outcome.kind, outcome.reason).inc()
    for observer in observers:
        observer(observation)


def observe_all(
    observers: Sequence[Observer], group: Consumer, records: Sequence[RawRecord], outcomes: Sequence[Outcome]
) -> None:
    """Count the outcomes of a batch and pass them to all observers.

    The counters are updated once for each topic and outcome.
    """
    topics = [raw.coordinates.topic for raw in records]
    for (topic, outcome), count in Counter(zip(topics, outcomes, strict=True)).items():
        metrics.RECORDS.labels(group, topic, outcome.kind, outcome.reason).inc(count)
    for observer in observers:
        for raw, topic, outcome in zip(records, topics, outcomes, strict=True):
            if outcome.kind == "dead_lettered":
                observer(Observation(group, topic, cause_of(raw), outcome, str(raw.coordinates), ids_of(raw)))
            else:
                observer(Observation(group, topic, cause_of(raw), outcome))
