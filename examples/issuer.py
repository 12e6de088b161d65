"""A token issuer for tests: keeps a key in a file, issues JSON Web Tokens, serves the public key.

    python examples/issuer.py serve --port 9100                                  # the key set, at /jwks.json
    python examples/issuer.py token ann --tenant acme --project support          # a person: their own feedback
    python examples/issuer.py token bot --tenant acme --project support --scope detect

It needs PyJWT with cryptography, which agent-feedback installs, and imports nothing else. In production your
identity provider issues tokens; copy `claims`, and issue them in your own backend.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

ISSUER = "http://127.0.0.1:9100"
AUDIENCE = "agent-feedback"
KEY_ID = "try-out"


def private_key(file: Path) -> ec.EllipticCurvePrivateKey:
    """Return the key in `file`, readable by its owner only; create it if it is missing."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        key = serialization.load_pem_private_key(file.read_bytes(), None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise SystemExit(f"{file} holds no elliptic-curve key.") from None
        return key
    key = ec.generate_private_key(ec.SECP256R1())
    with os.fdopen(descriptor, "wb") as out:
        out.write(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
    return key


def claims(subject: str, tenant: str, project: str, scope: str | None, minutes: float) -> dict[str, Any]:
    """Return a token's claims: person, place (project `*` means every project of the tenant), lifetime, scopes."""
    now = int(time.time())
    said = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": subject,
        "tenant": tenant,
        "project": project,
        "scope": scope,
        "iat": now,
        "exp": now + int(60 * minutes),
    }
    return {name: value for name, value in said.items() if value is not None}


def token(key: ec.EllipticCurvePrivateKey, said: dict[str, Any]) -> str:
    """Return a JSON Web Token with the signed claims."""
    return jwt.encode(said, key, "ES256", headers={"kid": KEY_ID})


def key_set(key: ec.EllipticCurvePrivateKey) -> dict[str, Any]:
    """Return the public key as a JSON Web Key Set."""
    public = ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return {"keys": [{**public, "kid": KEY_ID, "use": "sig", "alg": "ES256"}]}


def serve(key: ec.EllipticCurvePrivateKey, port: int) -> None:
    """Serve the key set on loopback until interrupted."""
    body = json.dumps(key_set(key)).encode()

    class Keys(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # as http.server calls it
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Keys)
    print(f"Serving the public key at http://127.0.0.1:{server.server_port}/jwks.json", flush=True)
    server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description="Mint tokens for trying agent-feedback out.")
    parser.add_argument("--key", type=Path, default=Path(".issuer-key.pem"), help="the key (default: %(default)s)")
    commands = parser.add_subparsers(dest="command", required=True)
    serving = commands.add_parser("serve", help="serve the public key")
    serving.add_argument("--port", type=int, default=9100)
    minting = commands.add_parser("token", help="print a token")
    minting.add_argument("subject")
    minting.add_argument("--tenant", required=True)
    minting.add_argument("--project", required=True)
    minting.add_argument("--scope", help="scopes with blanks between")
    minting.add_argument("--minutes", type=float, default=60)
    options = parser.parse_args()
    key = private_key(options.key)
    if options.command == "serve":
        serve(key, options.port)
    else:
        said = claims(options.subject, options.tenant, options.project, options.scope, options.minutes)
        print(token(key, said))


if __name__ == "__main__":
    main()
