"""Settings from environment variables, and from files that contain their values, such as secrets."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self, TypeVar, get_origin
from urllib.parse import urlsplit

from dotenv import load_dotenv
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from servicekit.errors import StartError, error_summary, rule_of

S = TypeVar("S", bound=BaseSettings)
FROM_FILE = "_FILE"
"""Suffix of a variable that names a file with the value, such as a mounted secret."""
SHARED = {"broker": "BROKER", "database_url": "DATABASE_URL", "store_url": "DATABASE_URL"}
"""Variables of the addresses that all services share, by field. A variable with a service's prefix takes precedence."""
_JSON_RULES = {"dict_type": 'must be a JSON object, such as {"name": "value"}', "list_type": "must be a JSON array"}
"""Error messages for settings that are given as JSON, by pydantic's error type."""


class _Variables(EnvSettingsSource):
    """Settings source for environment variables. Raises StartError if a value must be JSON and is not."""

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:
        try:
            return super().decode_complex_value(field_name, field, value)
        except ValueError:
            origin = get_origin(field.annotation)
            kind = "dict_type" if isinstance(origin, type) and issubclass(origin, Mapping) else "list_type"
            variable = f"{self.env_prefix}{field_name}".upper()
            raise StartError(f"{_set_variable(variable)}: {_JSON_RULES[kind]}.") from None


class _Files(_Variables):
    """Settings source for files. The variable NAME_FILE names the file with the value of NAME."""

    def __init__(self, settings_cls: type[BaseSettings]) -> None:
        super().__init__(settings_cls)
        variables = [f"{self.env_prefix}{name}".upper() for name in settings_cls.model_fields]
        contents = {variable.lower(): content_of(variable) for variable in variables}
        self.env_vars = {variable: content for variable, content in contents.items() if content is not None}


class _Shared(_Variables):
    """Settings source for the addresses that all services share."""

    def __init__(self, settings_cls: type[BaseSettings]) -> None:
        super().__init__(settings_cls)
        shared = {field: os.environ.get(name) or content_of(name) for field, name in SHARED.items()}
        self.env_vars = {f"{self.env_prefix}{field}".lower(): value for field, value in shared.items() if value}


class Settings(BaseSettings):
    """Base class of settings that are read from environment variables with a common prefix.

    An empty variable counts as unset. The variable NAME contains the value. NAME_FILE names a file that contains the
    value, and is used only if NAME is unset. Raises StartError if that file is missing or empty.
    """

    model_config = SettingsConfigDict(env_ignore_empty=True, frozen=True, hide_input_in_errors=True)

    @field_validator("database_url", "read_database_url", check_fields=False)
    @classmethod
    def _is_postgres(cls, url: str | None) -> str | None:
        if url is not None and urlsplit(url).scheme not in ("postgresql", "postgres"):
            raise ValueError("must begin with postgresql://")
        return url

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, _Variables(settings_cls), _Files(settings_cls), _Shared(settings_cls)


class ReadSettings(Settings):
    """Settings of a service with an HTTP API. HTTP reads have their own database connections."""

    database_url: str = "postgresql://localhost/agent_feedback"
    """PostgreSQL URL; the service uses the schema with its own name."""
    read_pool_size: int = Field(default=3, ge=1, le=100)
    """Maximum number of database connections for HTTP reads; further requests wait for a connection."""
    row_security: bool = True
    """True if PostgreSQL itself limits reads to one tenant; needs the role `agent_feedback_reader`."""


class FileSettings(BaseModel):
    """Base class for the settings in a TOML file and for the tables in it.

    Unknown names are rejected. A setting may name an environment variable that contains a secret.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the settings from the file `path`.

        Raises StartError if the file is invalid. The message has the field and the violated rule, but no values.
        """
        try:
            return cls.model_validate(tomllib.loads(path.read_text("utf-8")))
        except (OSError, UnicodeDecodeError) as error:
            raise StartError(f"The file {path} cannot be read: {type(error).__name__}.") from None
        except tomllib.TOMLDecodeError as error:
            raise StartError(f"The file {path} is not TOML: {error}.") from None
        except ValidationError as error:
            faults = error.errors(include_url=False, include_context=False, include_input=False)
            raise StartError(f"The file {path} is not valid: {error_summary(faults)}.") from None

    @staticmethod
    def secret_in(variable: str) -> str:
        """Return the secret in the environment variable `variable`, or in the file named by `variable`_FILE.

        Raises StartError if there is none.
        """
        text = os.environ.get(variable) or content_of(variable)
        if not text:
            raise StartError(f"Set {variable} to a secret, or {variable}{FROM_FILE} to a file that contains it.")
        return text


def read_settings(settings: type[S], **values: Any) -> S:
    """Read settings from the environment. The given `values`, by field name, take precedence.

    Raises StartError if a value is invalid. The message names the variables and the violated rules, but
    does not contain the values.
    """
    try:
        return settings(**values)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
    raise StartError("; ".join(dict.fromkeys(_setting_fault(settings, fault) for fault in faults)) + ".")


def _setting_fault(settings: type[BaseSettings], fault: Any) -> str:
    rule = _JSON_RULES.get(fault["type"]) or rule_of(fault)
    if not fault["loc"]:  # a rule about several settings names them itself
        return rule
    return f"{_set_variable(_variable(settings, str(fault['loc'][0])))}: {rule}"


def _variable(settings: type[BaseSettings], name: str) -> str:
    """Return the name of the environment variable for the field or alias `name`.

    If the field has several aliases, this is the alias that is set.
    """
    if name in settings.model_fields:
        variable = f"{settings.model_config.get('env_prefix', '')}{name}".upper()
        is_own = os.environ.get(variable) or os.environ.get(variable + FROM_FILE)
        return variable if is_own else SHARED.get(name, variable)
    for field in settings.model_fields.values():
        aliases = getattr(field.validation_alias, "choices", ())
        if name in aliases:
            return next((str(alias) for alias in aliases if os.environ.get(str(alias))), name)
    return name


def _set_variable(variable: str) -> str:
    """Return the name of the environment variable that is set: `variable`, or otherwise `variable`_FILE."""
    return next((name for name in (variable, variable + FROM_FILE) if os.environ.get(name)), variable)


def read_env_file(path: Path = Path(".env")) -> None:
    """Set environment variables from the file `path`, except those that are already set.

    Does nothing if the file does not exist. Raises StartError if it cannot be read.
    """
    try:
        load_dotenv(path)
    except (OSError, UnicodeDecodeError) as error:
        raise StartError(f"The file {path.absolute()} cannot be read: {type(error).__name__}.") from None


def content_of(variable: str) -> str | None:
    """Return the content of the file named by `variable`_FILE, without its line ending.

    The result is None if that variable is unset. Raises StartError if the file is empty or cannot be read.
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
