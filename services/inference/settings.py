"""Inference's settings, from the environment with the prefix INFERENCE_."""

from __future__ import annotations

from pydantic_settings import BaseSettings, SettingsConfigDict


class InferenceSettings(BaseSettings):
    """`broker` is host:port[,host:port]; `database_url` a PostgreSQL address; `sentence_encoder` see
    `encoders.sentence_encoder`: let all processes of a group have the same, or verdicts depend on who judges."""

    model_config = SettingsConfigDict(env_prefix="INFERENCE_", frozen=True)

    broker: str = "localhost:9092"
    database_url: str = "postgresql://localhost/agent_feedback"
    sentence_encoder: str = "auto"
