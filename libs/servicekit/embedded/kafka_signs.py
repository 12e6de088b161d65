"""What can be seen of a Kafka from outside: whether it answers, holds its data, and what it complained of."""

import re
from pathlib import Path
from typing import Final

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from servicekit.embedded.ports import LOOPBACK, is_free

_REQUEST_MILLISECONDS: Final = 3000


async def answers(port: int) -> bool:
    """Say whether the broker on this loopback port answers a metadata request with a broker in it."""
    if is_free(port):
        return False  # nobody listens yet, and aiokafka would complain in our log of each attempt
    admin = AIOKafkaAdminClient(bootstrap_servers=f"{LOOPBACK}:{port}", request_timeout_ms=_REQUEST_MILLISECONDS)
    try:
        await admin.start()
        return bool((await admin.describe_cluster())["brokers"])
    except (KafkaError, OSError):
        return False
    finally:
        await admin.close()


def is_locked(file: Path) -> bool:
    """Say whether a Kafka that runs holds this lock file of its data directory."""
    import fcntl  # not on Windows, where this module must still import

    try:
        with file.open("rb+") as lock:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def reason_in(log: Path) -> str:
    """The last complaint in a log that is not a line of a stack trace."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    for line in reversed(lines):
        if re.search(r"\b\w*(Exception|Error)\b: ", line) and not line.startswith("at "):
            return line
    return lines[-1] if lines else "it left no message"
