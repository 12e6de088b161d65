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

    - `sentence_encoder`: see `encoders.sentence_encoder`. All processes of a group need the same encoder.
    - `target_precision`: required precision of announced verdicts. A kind of verdict with a clearly lower precision is
      not announced.
    - `gate_url`, `gate_model`: base URL (up to /v1) of an OpenAI-compatible endpoint, and its model. The model is asked
      about messages that no rule decides. If the URL is empty, there is no gate.
    - `gate_seconds`, `gate_batch_seconds`: deadlines of one question and of a batch. The batch's default is shorter
      than the time for which a rebalance waits for a batch.
    - `index_seconds`: maximum time for which `detect` waits for the index.

    Retention periods are in days; 0 means no limit. `conversation_days` (texts) and `turn_days` (turns and verdicts)
    begin when the conversation's last message was stored. `gate_answer_days` begins with the language model's answer,
    and `journal_days` with the outcome of an event.
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
