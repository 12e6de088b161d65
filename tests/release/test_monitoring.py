"""The alert rules and the dashboard's queries work on a real Prometheus that scrapes a running application."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from docgen.reference import metric_rows
from tests.support.command import HANG_SECONDS, serving, state_folder

pytestmark = pytest.mark.monitoring
RULES = Path(__file__).parents[2] / "deploy/prometheus/alerts.yaml"
DASHBOARD = Path(__file__).parents[2] / "deploy/grafana/agent-feedback.json"
RULES_TEST = RULES.with_name("alerts_test.yaml")
QUIET = {
    "agent_feedback_deliveries_total",
    "agent_feedback_llm_gate_total",
    "agent_feedback_http_failures_total",
    "agent_feedback_batch_retries_total",
    "agent_feedback_lost_commits_total",
    "agent_feedback_dead_letters_total",
    "agent_feedback_refused_events_total",
}
"""Metrics without a series after the sample: nothing failed, and no neighbour is configured."""


def queries() -> list[str]:
    """Return the queries of all panels of the dashboard."""
    panels = json.loads(DASHBOARD.read_text("utf-8"))["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", ())]


def rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(RULES.read_text("utf-8"))["groups"]
    return list(group["rules"])


def test_the_rules_are_valid_and_each_is_raised_by_its_failure() -> None:
    for arguments in (("check", "rules", str(RULES)), ("test", "rules", str(RULES_TEST))):
        done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_each_rule_has_an_uneventful_and_a_failing_case() -> None:
    names = [rule["alert"] for rule in rules()]
    quiet, failing = yaml.safe_load(RULES_TEST.read_text("utf-8"))["tests"]
    assert [case["alertname"] for case in quiet["alert_rule_test"]] == names
    (expected,) = failing["promql_expr_test"]
    assert [sample["labels"].split('"')[1] for sample in expected["exp_samples"]] == names


def test_rules_and_panels_use_metrics_that_exist() -> None:
    metrics = {row[0] for row in metric_rows()}
    for query in (*queries(), *(rule["expr"] for rule in rules())):
        for name in re.findall(r"agent_feedback_\w+", query):
            assert f"`{re.sub('_(bucket|sum|count)$', '', name)}`" in metrics, query


@pytest.fixture(scope="module")
async def prometheus(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client of a Prometheus that has scraped the application with the sample twice."""
    folder = tmp_path_factory.mktemp("prometheus")
    async with state_folder() as state, serving(state, "--sample") as (url, token):
        (folder / "token").write_text(token, "utf-8")
        target = url.removeprefix("http://").rstrip("/")
        scrape = {
            "job_name": "agent-feedback",
            "scrape_interval": "1s",
            "authorization": {"credentials_file": str(folder / "token")},
            "static_configs": [{"targets": [target]}],
        }
        config = {"rule_files": [str(RULES)], "scrape_configs": [scrape]}
        (folder / "prometheus.yaml").write_text(yaml.safe_dump(config), "utf-8")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        program = shutil.which("prometheus")
        assert program, "Install Debian's package prometheus."
        process = await asyncio.create_subprocess_exec(
            program,
            f"--config.file={folder / 'prometheus.yaml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address={address}",
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            async with httpx.AsyncClient(base_url=f"http://{address}/api/v1/", trust_env=False) as client:
                async with asyncio.timeout(HANG_SECONDS):
                    while not await _has_scraped(client):
                        await asyncio.sleep(0.2)
                yield client
        finally:
            process.terminate()
            await process.wait()


async def _has_scraped(client: httpx.AsyncClient) -> bool:
    try:
        found = await result(client, "min(count_over_time(agent_feedback_satisfaction[5m])) > 1")
    except httpx.HTTPError:
        return False
    return bool(found)


async def result(client: httpx.AsyncClient, query: str) -> list[Any]:
    response = await client.get("query", params={"query": query})
    response.raise_for_status()
    return list(response.json()["data"]["result"])


async def test_every_query_of_the_dashboard_has_a_result(prometheus: httpx.AsyncClient) -> None:
    for query in queries():
        found = await result(prometheus, query.replace("$tenant", ".*"))
        if not any(name in query for name in QUIET):
            assert found, query


async def test_no_rule_is_raised_by_the_sample(prometheus: httpx.AsyncClient) -> None:
    response = await prometheus.get("rules")
    (group,) = response.json()["data"]["groups"]
    assert [rule["name"] for rule in group["rules"]] == [rule["alert"] for rule in rules()]
    assert {rule["name"]: rule["state"] for rule in group["rules"] if rule["state"] != "inactive"} == {}
    assert {rule.get("lastError") for rule in group["rules"]} <= {None, ""}
