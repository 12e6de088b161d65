"""Inference's settings, from the environment with the prefix INFERENCE_."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AfterValidator, Field, SecretStr, model_validator
from pydantic_settings import SettingsConfigDict

from servicekit.settings import ReadSettings


def _sendable(key: SecretStr) -> SecretStr:
    text = key.get_secret_value()
    if not (text.isascii() and text.isprintable()):
        raise ValueError("must be printable ASCII")
    return key


class InferenceSettings(ReadSettings):
    """`broker` is host:port[,host:port]; `database_url` a PostgreSQL address; `sentence_encoder` see
    `encoders.sentence_encoder`: let all processes of a group have the same, or verdicts depend on who judges.

    `gate_url` is the base address of an OpenAI-compatible endpoint (up to /v1) that `gate_model` is asked at where no
    rule alone decides; empty: nobody is asked. One question takes at most `gate_seconds`, all those of one batch
    `gate_batch_seconds`, which stays below the time that a rebalance waits for the batch at work unless set otherwise.

    `index_seconds` is how long `detect` waits for what the log held at the request to be indexed.

    Kept, in days after the conversation's last message came in (0: for ever): `conversation_days` its texts,
    `turn_days` its turns and verdicts; `gate_answer_days` after the answer, what the language model said;
    `journal_days` after the outcome, events without effect (`where`).
    """

    model_config = SettingsConfigDict(env_prefix="INFERENCE_")

    broker: str = "localhost:9092"
    sentence_encoder: str = "auto"
    index_seconds: float = Field(default=2, gt=0, le=60)
    conversation_days: float = Field(default=365, ge=0)
    turn_days: float = Field(default=730, ge=0)
    gate_answer_days: float = Field(default=30, ge=0)
    journal_days: float = Field(default=7, ge=0)
    gate_url: str = Field(default="", pattern=r"^(https?://[^\x00-\x20@?#]+)?$")
    gate_model: str = ""
    gate_key: Annotated[SecretStr, AfterValidator(_sendable)] = SecretStr("")
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
