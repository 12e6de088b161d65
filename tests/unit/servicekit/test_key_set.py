"""Keys of an issuer's key set that verify tokens."""

from __future__ import annotations

from typing import Any

import pytest
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from servicekit.web.jwks import keys_in
from tests.support.issuer import key_for, public_jwk

FORMS: dict[str, type[RSAAlgorithm | ECAlgorithm | OKPAlgorithm]] = {
    "RS256": RSAAlgorithm,
    "ES256": ECAlgorithm,
    "EdDSA": OKPAlgorithm,
}


def private_jwk(algorithm: str) -> dict[str, Any]:
    return {
        **FORMS[algorithm].to_jwk(key_for(algorithm), as_dict=True),
        "kid": "leaked",
        "use": "sig",
        "key_ops": ["verify"],
    }


@pytest.mark.parametrize("algorithm", FORMS)
def test_a_private_key_verifies_nothing(algorithm: str) -> None:
    """Everybody who can read the key set could sign with it."""
    leaked, sound = private_jwk(algorithm), public_jwk(key_for(algorithm), "sound")
    assert "d" in leaked
    assert [key.key_id for key in keys_in({"keys": [leaked, sound]})] == ["sound"]


@pytest.mark.parametrize("more", [{"use": "enc"}, {"key_ops": ["sign"]}, {"key_ops": "verify"}, {"alg": "HS256"}])
def test_a_key_for_something_else_verifies_nothing(more: dict[str, Any]) -> None:
    assert keys_in({"keys": [public_jwk(key_for("RS256"), "other", **more)]}) == []


def test_a_short_rsa_key_verifies_nothing() -> None:
    assert keys_in({"keys": [public_jwk(key_for("RS256", "short", 1_024), "short")]}) == []
