"""The command `up`, which runs all services in one process."""

from __future__ import annotations

import typer
from rich.console import Console

from standalone.one_process.options import UpOptions
from standalone.terminal import INTERRUPTED, print_json, say, with_options
from standalone.terminal import run as run_work


@with_options(UpOptions)
def up(options: UpOptions) -> None:
    """Run all services in one process, replay files of chat events, and serve the HTTP API and the pages.

    `agent-feedback up --sample` shows the flow with sample conversations. With `--exit --json`, it is a batch job. The
    server listens on this machine only. AGENT_FEEDBACK_TOKEN sets the access token; by default, one is generated and
    kept in the state folder.
    """
    # Imported late, because it loads all services, which takes a second.
    from standalone.one_process.up import up as run_up

    facts = run_work(run_up(options, Console(), (lambda _: None) if options.as_json else say))
    if facts is None:
        if options.exit:
            say("Stopped before all input was processed.")
            raise typer.Exit(INTERRUPTED)
        return
    for rejected in facts.get("replayed", {}).get("rejected", [])[:5]:
        say(f"{rejected['file']} line {rejected['line']} was rejected: {rejected['reason']}.")
    if options.as_json:
        print_json(facts)
