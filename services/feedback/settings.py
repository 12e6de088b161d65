"""Settings of the feedback service, from environment variables with the prefix FEEDBACK_."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field, StringConstraints, field_validator
from pydantic_settings import SettingsConfigDict

from contracts.base import Name
from feedback.reward import DEFAULT_REWARDS, RewardChanges, changed_rewards
from servicekit.settings import ReadSettings

ProjectPath = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,64}/[A-Za-z0-9._-]{1,64}$")]
"""A project, as `tenant/project`."""
STORE_SCHEMES = frozenset({"postgresql", "postgres", "mongodb", "mongodb+srv"})


class FeedbackSettings(ReadSettings):
    """Settings of the feedback service.

    The scheme of `store_url` selects the store: postgresql or mongodb.

    - `emoji_rewards`, `emoji_rewards_of`: changes of the default rewards, for all projects and for single projects
      (`tenant/project`). Null removes the reward of an emoji.
    - `database_url`: database of the turn registry.
    - `log_seconds`: timeout for writing the events of an HTTP request to the log.
    - `turn_seconds`: maximum time that a request about an unknown turn waits for the registry to catch up with the log.
    - `session_seconds`: timeout for storing the rating at the end of a session. `session_days`: days after which
      ratings are deleted.
    - `default_tenant`: tenant of a session's rating if neither the request nor the token names one.
    - `person_limit`: maximum number of judgements that a person may send over HTTP per minute. 0 means no limit.

    Retention periods are in days after a row was stored (0: no limit): `turn_days` for known turns, `stub_days` for
    the ids of erased records (PostgreSQL stores), and `erasure_status_days` for the status of erasures.
    """

    model_config = SettingsConfigDict(env_prefix="FEEDBACK_")

    broker: str = "localhost:9092"
    store_url: str = "postgresql://localhost/agent_feedback"
    emoji_rewards: RewardChanges = Field(default_factory=dict)
    emoji_rewards_of: dict[ProjectPath, RewardChanges] = Field(default_factory=dict)
    log_seconds: float = Field(default=5, gt=0, le=60)
    turn_days: float = Field(default=730, ge=0)
    stub_days: float = Field(default=30, ge=0)
    erasure_status_days: float = Field(default=730, ge=0)
    turn_seconds: float = Field(default=2, ge=0, le=60)
    session_seconds: float = Field(default=0.8, gt=0, le=60)
    session_days: int = Field(default=180, ge=1, le=3650)
    default_tenant: Name = "default"
    person_limit: int = Field(default=60, ge=0, le=1_000_000)

    @field_validator("store_url")
    @classmethod
    def _is_a_store(cls, url: str) -> str:
        if urlsplit(url).scheme not in STORE_SCHEMES:
            raise ValueError("must begin with postgresql:// or mongodb://")
        return url

    @property
    def rewards(self) -> Mapping[str, float]:
        """Rewards by normalised emoji, for all projects that are not in `emoji_rewards_of`."""
        return changed_rewards(DEFAULT_REWARDS, self.emoji_rewards)

    @property
    def project_rewards(self) -> Mapping[tuple[str, str], Mapping[str, float]]:
        """Rewards by normalised emoji, for each (tenant, project) in `emoji_rewards_of`."""
        return {
            (tenant, project): changed_rewards(self.rewards, changes)
            for path, changes in self.emoji_rewards_of.items()
            for tenant, project in [path.split("/")]
        }
