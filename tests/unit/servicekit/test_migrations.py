"""The versions of a schema that a program can use, and the headers of the shipped migrations."""

from pathlib import Path

import pytest

from servicekit.db.migrations import Migration, incompatibility, read_migrations

SERVICES = Path(__file__).parents[3] / "services"
OLDER = "made by a version before 0.1.0"


def files(*numbers: int) -> list[Migration]:
    return [Migration(f"{number:04}_of_ours.sql", "") for number in numbers]


@pytest.mark.parametrize(
    ("own", "applied", "said"),
    [
        (files(1, 2), {}, None),
        (files(1, 2), {"0001_of_ours.sql": 1}, None),
        (files(1), {"0001_of_ours.sql": 1, "0002_later.sql": 1}, None),
        (files(1), {"0001_of_ours.sql": 1, "0002_later.sql": 2}, "at version 2, which programs below version 2"),
        (
            files(1),
            {"0001_of_ours.sql": 1, "0002_later.sql": 2, "0003_last.sql": 1},
            "at version 3, which programs below",
        ),
        (files(1, 2), {"0001_of_ours.sql": 1, "0002_of_ours.sql": 2, "0003_last.sql": 2}, None),
        (files(1, 2), {"0001_of_ours.sql": 1, "0002_of_ours.sql": 2, "0003_last.sql": 3}, "this program is at 2"),
        (files(1), {"0001_read_models.sql": 0}, OLDER),
        (files(1), {"0001_read_models.sql": 0, "0002_artifacts.sql": 0}, OLDER),
        (files(1), {"0001_of_ours.sql": 1, "0001b_repair.sql": 0}, OLDER),
    ],
)
def test_the_schemas_that_a_program_can_use(own: list[Migration], applied: dict[str, int], said: str | None) -> None:
    why = incompatibility("feedback", own, applied)
    assert why is None if said is None else why is not None and said in why


def test_a_migration_without_a_header_excludes_all_older_programs() -> None:
    assert Migration("0007_any.sql", "create table kept (n int)").compatible_from == 7
    assert Migration("0007_any.sql", "-- compatible_from: 0005\ncreate table kept (n int)").compatible_from == 5
    assert Migration("0007_any.sql", "select 1;\n-- compatible_from: 0005\n").compatible_from == 7


@pytest.mark.parametrize("folder", sorted(SERVICES.glob("*/migrations")), ids=lambda folder: folder.parent.name)
def test_shipped_migrations_say_which_programs_may_run_against_them(folder: Path) -> None:
    shipped = read_migrations(folder)
    assert [file.number for file in shipped] == list(range(1, len(shipped) + 1))
    assert [file.name for file in shipped if not file.text.startswith("-- compatible_from: 0")] == []
    assert all(file.compatible_from <= file.number for file in shipped)
