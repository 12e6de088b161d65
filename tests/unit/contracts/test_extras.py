"""Commands that install extras, in the kinds of environment in which their texts are read."""

from __future__ import annotations

from pathlib import Path

from contracts.extras import install_command


def test_an_environment_of_pip_gets_the_extra_added(tmp_path: Path) -> None:
    assert install_command("tracing", tmp_path) == "pip install '.[tracing]' (in the checkout)"


def test_a_tool_of_uv_keeps_the_extras_that_it_has(tmp_path: Path) -> None:
    (tmp_path / "uv-receipt.toml").touch()
    usual = 'uv tool install ".[standalone,issues,encoder]" (in the checkout)'
    assert install_command("issues", tmp_path) == usual
    assert install_command("tracing", tmp_path) == usual.replace("encoder", "encoder,tracing")
