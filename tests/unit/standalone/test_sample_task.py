"""The sample is loaded once in the background, and again only after a failure."""

from __future__ import annotations

import asyncio

from standalone.one_process.sample_task import SampleTask
from tests.support.waits import PATIENCE_SECONDS


class Loading:
    """Loading of the sample that waits for `go` and then fails with the next of `errors`."""

    def __init__(self, *errors: Exception) -> None:
        self._errors = list(errors)
        self.begun, self.cancelled, self.go = 0, 0, asyncio.Event()
        self.said: list[str] = []
        self.task = SampleTask(self._load, self.said.append)

    async def _load(self) -> None:
        self.begun += 1
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            await asyncio.sleep(0)
            raise
        if self._errors:
            raise self._errors.pop(0)

    async def ended(self) -> None:
        self.go.set()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while self.task.is_loading:
                await asyncio.sleep(0)


async def test_a_sample_is_loaded_once() -> None:
    loading = Loading()
    assert not loading.task.is_loading
    for _ in range(2):
        loading.task.start()
        assert loading.task.is_loading
    await loading.ended()
    loading.task.start()
    assert not loading.task.is_loading
    assert loading.begun == 1
    assert loading.said == ["Loading the sample ...", "The sample is loaded."]
    await loading.task.stop()


async def test_a_sample_that_could_not_be_loaded_may_be_loaded_again() -> None:
    loading = Loading(OSError("disk full"))
    loading.task.start()
    await loading.ended()
    assert loading.said[1:] == ["The sample could not be loaded (OSError): press the button again."]
    loading.task.start()
    await loading.ended()
    assert loading.said[2:] == ["Loading the sample ...", "The sample is loaded."]
    assert loading.begun == 2


async def test_a_stop_ends_the_loading() -> None:
    loading = Loading()
    await loading.task.stop()
    loading.task.start()
    await asyncio.sleep(0)
    await loading.task.stop()
    assert (loading.cancelled, loading.task.is_loading) == (1, False)
    assert loading.said == ["Loading the sample ..."]
