"""The feedback service's settings, from the environment with the prefix FEEDBACK_."""

from __future__ import annotations

from pydantic import Field, field_validator
from pydantic_settings import SettingsConfigDict

from contracts.base import Name
from feedback.emojis import DEFAULT_REWARDS, normalise
from servicekit.settings import ReadSettings


class FeedbackSettings(ReadSettings):
    """`store_url` picks the store by its scheme: postgresql, mongodb or memory. `emoji_rewards` extends the table.

    `database_url` is where the turn registry is kept. `log_seconds` is how long a request waits for the log,
    `turn_seconds` how long for the registry to read on where it does not know a turn yet, `session_seconds` how long
    a session's end waits for its rating to be kept. Ratings are removed after `session_days`; those sent with a token
    of all tenants are `default_tenant`'s.

    Kept, in days after they came in (0: for ever): `turn_days` what is known of a turn, `stub_days` the ids that an
    erasure leaves (PostgreSQL stores), `erasure_status_days` the status of erasures.
    """

    model_config = SettingsConfigDict(env_prefix="FEEDBACK_")

    broker: str = "localhost:9092"
    store_url: str = "postgresql://localhost/agent_feedback"
    emoji_rewards: dict[str, float] = Field(default_factory=dict)
    log_seconds: float = Field(default=5, gt=0, le=60)
    turn_days: float = Field(default=730, ge=0)
    stub_days: float = Field(default=30, ge=0)
    erasure_status_days: float = Field(default=730, ge=0)
    turn_seconds: float = Field(default=2, ge=0, le=60)
    session_seconds: float = Field(default=0.8, gt=0, le=60)
    session_days: int = Field(default=180, ge=1, le=3650)
    default_tenant: Name = "default"

    @field_validator("emoji_rewards")
    @classmethod
    def _are_rewards(cls, rewards: dict[str, float]) -> dict[str, float]:
        for emoji, reward in rewards.items():
            if not -1 <= reward <= 1:
                raise ValueError(f"the reward of {emoji!r} is {reward}, outside -1 to 1")
        return rewards

    @property
    def rewards(self) -> dict[str, float]:
        """Reward by normalised emoji, the built-in table extended by the setting."""
        return {**DEFAULT_REWARDS, **{normalise(emoji): reward for emoji, reward in self.emoji_rewards.items()}}
