"""Settings from the environment, alike for every part: what is empty is not set, and secrets may lie in files."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from servicekit.complaints import sentence
from servicekit.failures import StartError

S = TypeVar("S", bound=BaseSettings)
M = TypeVar("M", bound=BaseModel)
FROM_FILE = "_FILE"
"""Ends the name of a variable that names a file with the value, such as a mounted secret."""


class _Files(EnvSettingsSource):
    """Values out of the files that variables called NAME_FILE name."""

    def _load_env_vars(self) -> Mapping[str, str | None]:
        found: dict[str, str | None] = {}
        for name in self.settings_cls.model_fields:
            variable = f"{self.env_prefix}{name}".upper()
            content = content_of(variable)
            if content is not None:
                found[variable.lower()] = content
        return found


class Settings(BaseSettings):
    """Settings with a prefix of their own.

    An empty variable is not set. Of NAME and NAME_FILE, the first holds the value itself and goes before the second,
    which names a file with it. Raises StartError where such a file is missing or empty.
    """

    model_config = SettingsConfigDict(env_ignore_empty=True, frozen=True, hide_input_in_errors=True)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, _Files(settings_cls)


class ReadSettings(Settings):
    """What a service with answers to callers is set to: the connections that read for them are their own."""

    database_url: str = "postgresql://localhost/agent_feedback"
    """PostgreSQL's address; the service keeps to the schema of its name in it."""
    read_pool_size: int = Field(default=3, ge=1, le=100)
    """Database connections of HTTP at most; further requests wait for one."""
    row_security: bool = True
    """Whether PostgreSQL itself keeps reads to one tenant; needs the role `agent_feedback_reader`."""


def read_settings(settings: type[S], **given: Any) -> S:
    """The settings as the environment has them, but for those `given` by their fields' names.

    Raises StartError, without their values, where they are not sound.
    """
    try:
        return settings(**given)
    except ValidationError as error:
        why = sentence(error.errors(include_url=False, include_context=False, include_input=False))
    except SettingsError as error:  # names the field that is not the JSON it should be
        why = str(error)
    raise StartError(f"The settings {settings.model_config.get('env_prefix', '')}* are not sound: {why}.")


def read_toml(path: Path, model: type[M]) -> M:
    """The TOML file `path` as `model`. Raises StartError, without its values, where it is not sound."""
    try:
        return model.model_validate(tomllib.loads(path.read_text("utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise StartError(f"The file {path} cannot be read: {type(error).__name__}.") from None
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        raise StartError(f"The file {path} is not sound: {sentence(faults)}.") from None


def secret_of(variable: str) -> str:
    """The secret that the environment holds under `variable`, or in the file that `variable`_FILE names.

    Raises StartError where there is none.
    """
    text = os.environ.get(variable) or content_of(variable)
    if not text:
        raise StartError(f"The variable {variable} must hold a secret, or {variable}{FROM_FILE} name a file with it.")
    return text


def content_of(variable: str) -> str | None:
    """What the file holds that `variable`_FILE names, without the end of its line; None where none is named.

    Raises StartError where it cannot be read or is empty.
    """
    named = os.environ.get(variable + FROM_FILE)
    if not named:
        return None
    try:
        content = Path(named).read_text("utf-8").strip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise StartError(
            f"{variable}{FROM_FILE} names {named}, which cannot be read: {type(error).__name__}."
        ) from None
    if not content.strip():
        raise StartError(f"{variable}{FROM_FILE} names {named}, which is empty.")
    return content
