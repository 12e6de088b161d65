"""Prometheus histogram that can record many equal observations at once."""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client import Histogram


class BulkHistogram(Histogram):
    """Prometheus histogram that records any number of equal observations in constant time (`observe_many`)."""

    def observe_many(self, amount: float, count: int, exemplar: Mapping[str, str] | None = None) -> None:
        """Record `count` equal observations of `amount`.

        Args:
            exemplar: The labels of an exemplar, such as a trace id.
        """
        self.observe(amount, dict(exemplar) if exemplar else None)
        if count > 1:
            self._sum.inc(amount * (count - 1))
            bucket = next(number for number, bound in enumerate(self._upper_bounds) if amount <= bound)
            self._buckets[bucket].inc(count - 1)
