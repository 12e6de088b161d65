"""Slack channels that were set on the page of alerts."""

from __future__ import annotations

from typing import Any, cast

import asyncpg
import pytest
from cryptography.fernet import Fernet

from reporting.alerts.page_channels import PageChannels
from reporting.queries.selection import Project
from tests.support.hand_clock import HandClock

KEY = Fernet.generate_key()


class OneChannel:
    """A pool whose statements find one channel with a private address."""

    async def fetchrow(self, *_: object) -> dict[str, Any]:
        return {
            "name": "ops",
            "url": Fernet(KEY).encrypt(b"http://10.0.0.7/hook"),
            "private": True,
            "address": "10.0.0.7",
        }


@pytest.mark.parametrize("private", [False, True])
async def test_a_channel_may_use_a_private_address_only_while_the_setting_allows_it(private: bool) -> None:
    channels = PageChannels(cast("asyncpg.Pool", OneChannel()), HandClock(), KEY.decode(), private=private)
    found = await channels.find(Project("acme", "support"), "ops")
    assert found is not None and found.settings.private is private
