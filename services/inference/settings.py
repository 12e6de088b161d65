"""Settings of inference, from environment variables with the prefix INFERENCE_."""

from __future__ import annotations

from typing import Self

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import SettingsConfigDict

from chat_completions.setting_types import EndpointKey, EndpointUrl
from contracts.announcement_threshold import ANNOUNCEMENT_THRESHOLD
from servicekit import ReadSettings


class InferenceSettings(ReadSettings):
    """Settings of inference. `broker` is host:port[,host:port], `database_url` a PostgreSQL URL.

    `sentence_encoder`: see `encoders.sentence_encoder`. All processes of a group need the same encoder.
    `target_precision` is the required precision of announced verdicts. Kinds of verdicts whose precision is clearly
    lower are not announced. `gate_url` is the base URL of an OpenAI-compatible endpoint (up to /v1) with the model
    `gate_model`; empty: no gate. The gate is asked about messages that no rule decides. `gate_seconds` is the deadline
    of a question. `gate_batch_seconds` is a batch's deadline; its default is below the time that a rebalance waits for
    a batch. `index_seconds` is the maximum time that `detect` waits for the index.

    Retention periods are in days; 0 means no limit. After the conversation's last message was stored,
    `conversation_days` applies to texts, `turn_days` to turns and verdicts. `gate_answer_days` applies to the language
    model's answers, after the answer; `journal_days` to events without effect (`where`), after the outcome.
    """

    model_config = SettingsConfigDict(env_prefix="INFERENCE_")

    broker: str = "localhost:9092"
    sentence_encoder: str = "auto"
    target_precision: float = Field(default=ANNOUNCEMENT_THRESHOLD, ge=ANNOUNCEMENT_THRESHOLD, lt=1)
    index_seconds: float = Field(default=2, gt=0, le=60)
    conversation_days: float = Field(default=365, ge=0)
    turn_days: float = Field(default=730, ge=0)
    gate_answer_days: float = Field(default=30, ge=0)
    journal_days: float = Field(default=7, ge=0)
    gate_url: EndpointUrl = ""
    gate_model: str = ""
    gate_key: EndpointKey = SecretStr("")
    gate_seconds: float = Field(default=3, gt=0, le=60)
    gate_batch_seconds: float = Field(default=4, gt=0, le=60)
    gate_at_once: int = Field(default=16, ge=1, le=256)

    @model_validator(mode="after")
    def _gate_as_a_whole(self) -> Self:
        if self.gate_url and not self.gate_model:
            raise ValueError("INFERENCE_GATE_URL needs INFERENCE_GATE_MODEL")
        if self.gate_batch_seconds <= self.gate_seconds:
            raise ValueError("INFERENCE_GATE_BATCH_SECONDS must be above INFERENCE_GATE_SECONDS")
        return self
