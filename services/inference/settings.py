"""Settings of the inference service, read from environment variables with the prefix INFERENCE_."""

from __future__ import annotations

from typing import Self

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import SettingsConfigDict

from chat_completions.setting_types import EndpointKey, EndpointUrl
from detector.encoders import EncoderChoice
from servicekit.settings import ReadSettings


class InferenceSettings(ReadSettings):
    """Settings of the inference service.

    `broker` is host:port[,host:port] and `database_url` a PostgreSQL URL.

    - `sentence_encoder`: see `detector.encoders.EncoderChoice`. All processes of a group need the same one.
    - `gate_url`, `gate_model`: the base URL (up to /v1) of an OpenAI-compatible endpoint and the name of its model,
      which is asked about messages that no rule decides. An empty URL disables the language model.
    - `gate_seconds`, `gate_batch_seconds`: the timeouts of a single question and of a batch of questions. By default,
      the batch timeout is shorter than the time that a rebalance waits for a batch.
    - `index_seconds`: the maximum time in seconds that `detect` waits for the index.

    Retention periods are in days, and 0 means unlimited. `conversation_days` (texts) and `turn_days` (turns and
    verdicts) count from the time at which the conversation's last message was stored, and `gate_answer_days` from
    the language model's answer.
    """

    model_config = SettingsConfigDict(env_prefix="INFERENCE_")

    broker: str = "localhost:9092"
    sentence_encoder: EncoderChoice = "auto"
    index_seconds: float = Field(default=2, gt=0, le=60)
    conversation_days: float = Field(default=365, ge=0)
    turn_days: float = Field(default=730, ge=0)
    gate_answer_days: float = Field(default=30, ge=0)
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
