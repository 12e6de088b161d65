"""Projects of colleagues and programs: one set covers another only if it has every project of it."""

from __future__ import annotations

import pytest

from servicekit.web.auth import Caller
from servicekit.web.projects import ProjectSet

SALES, SUPPORT, BOTH = ["acme/sales"], ["acme/support"], ["acme/sales", "acme/support"]
TENANT, OTHER, PLATFORM = ["acme/*"], ["globex/sales"], ["*/*"]


@pytest.mark.parametrize(
    ("own", "covered"),
    [
        (SALES, [SALES]),
        (BOTH, [SALES, SUPPORT, BOTH]),
        (TENANT, [SALES, SUPPORT, BOTH, TENANT]),
        (OTHER, [OTHER]),
        (PLATFORM, [SALES, SUPPORT, BOTH, TENANT, OTHER, PLATFORM]),
    ],
)
def test_a_set_covers_those_with_no_other_project(own: list[str], covered: list[list[str]]) -> None:
    every = [SALES, SUPPORT, BOTH, TENANT, OTHER, PLATFORM]
    assert [one for one in every if ProjectSet.parse(own).covers(ProjectSet.parse(one))] == covered


@pytest.mark.parametrize("places", [SALES, BOTH, TENANT, OTHER, PLATFORM])
def test_a_caller_has_the_projects_of_the_set(places: list[str]) -> None:
    access = ProjectSet.parse(places)
    caller = access.member("ann", frozenset({"read"}))
    assert ProjectSet.of(caller) == access
    assert access.names == places
    touched = [
        f"{tenant}/{project}"
        for tenant in ("acme", "globex")
        for project in ("sales", "support", None)
        if caller.may_touch(tenant, project)
    ]
    assert (
        touched
        == {
            "acme/sales": ["acme/sales"],
            "acme/sales acme/support": ["acme/sales", "acme/support"],
            "acme/*": ["acme/sales", "acme/support", "acme/None"],
            "globex/sales": ["globex/sales"],
            "*/*": [f"{tenant}/{project}" for tenant in ("acme", "globex") for project in ("sales", "support", None)],
        }[" ".join(places)]
    )
    assert not caller.is_person


def test_a_token_of_the_platform_covers_everything() -> None:
    assert ProjectSet.of(Caller("local")) == ProjectSet.parse(PLATFORM)


@pytest.mark.parametrize(
    ("places", "access"),
    [
        (["acme/support", "acme/sales", "acme/support"], ("acme", ("sales", "support"))),
        (["acme/support", "acme/*"], ("acme", ("*",))),
        ([" acme/support "], ("acme", ("support",))),
        ([f"acme/p{n}" for n in range(50)], ("acme", tuple(sorted(f"p{n}" for n in range(50))))),
        ([f"acme/p{n}" for n in range(51)], None),
        ([], None), (["acme"], None), (["acme/"], None), (["/support"], None), (["acme/a/b"], None),
        (["*/support"], None), (["acme/support", "globex/support"], None), (["acme/support", "*/*"], None),
        (["acme/" + "p" * 64], ("acme", ("p" * 64,))), (["acme/" + "p" * 65], None), (["acme/ü"], None),
    ],
)  # fmt: skip
def test_places_name_projects_of_one_tenant(places: list[str], access: tuple[str, tuple[str, ...]] | None) -> None:
    if access is None:
        with pytest.raises(ValueError, match="tenant"):
            ProjectSet.parse(places)
    else:
        assert ProjectSet.parse(places) == ProjectSet(*access)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (" Ann@Example.org ", "ann@example.org"), ("crm", "crm"), ("a" * 100, "a" * 100), ("a" * 101, None),
        ("", None), ("ann b", None), ("-ann", None), ("änn", None), ("ann\n", "ann"), ("a\nb", None),
    ],
)  # fmt: skip
def test_a_name_is_one_word_in_lower_case(text: str, name: str | None) -> None:
    if name is None:
        with pytest.raises(ValueError, match="A name has"):
            ProjectSet.member_name(text)
    else:
        assert ProjectSet.member_name(text) == name
