"""Forms of the alerts page: change rules and channels, and test channels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from fastapi import Response
from pydantic import ValidationError

from contracts.scopes import ADMIN, OPERATE
from reporting.alerts.administration import AlertAdministration
from reporting.alerts.channels import ChannelKind
from reporting.alerts.rules import (
    ALERT_RULE,
    MOST_CHANNELS_OF_RULE,
    AlertRule,
    NewIssue,
    RegressedIssue,
    SatisfactionBelow,
    ShareRuleSettings,
    Silence,
)
from reporting.model.selection import Project
from reporting.pages.forms import Form
from reporting.pages.visits import PageSources, Visit
from reporting.read_models.projects import agent_ids
from servicekit.errors import RequestRefused

CHANNEL_NAMES: Final[Mapping[ChannelKind, str]] = {
    "slack": "Slack",
    "teams": "Microsoft Teams",
    "webhook": "Signed webhook",
}


FIRST_RULE: Final = "satisfaction-dropped"
"""Name of the rule that the form of the first channel offers."""


@dataclass(frozen=True, slots=True)
class FormOutcome:
    """Message about the outcome of a submitted form.

    `failed` is True if nothing was changed or delivered.
    """

    text: str
    failed: bool = False


async def show_alerts(sources: PageSources, visit: Visit, outcome: FormOutcome | None = None) -> Response:
    """Render the alerts, rules and channels of a project.

    Args:
        outcome: Outcome of the form that was submitted before.
    """
    if sources.alerts is None:
        raise RequestRefused(404, "This process has no alerts.")
    overview = await sources.alerts.overview(visit.project)
    return visit.page(
        "alerts.html",
        outcome=outcome,
        **overview,
        words=rule_in_words,
        most_channels=MOST_CHANNELS_OF_RULE,
        channel_kinds=CHANNEL_NAMES,
        admin=not {ADMIN, OPERATE}.isdisjoint(visit.caller.scopes),
        agent_names=await agent_ids(sources.current, visit.project),
    )


async def change_alerts(sources: PageSources, visit: Visit) -> Response:
    """Process a submitted form, and render the alerts page with the outcome.

    If the request is refused or the form is invalid, the outcome states the reason.
    """
    if sources.alerts is None:
        return await show_alerts(sources, visit)
    try:
        outcome = await _carry_out(sources.alerts, visit, await Form.read(visit.request))
    except RequestRefused as refusal:
        outcome = FormOutcome(str(refusal), failed=True)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
        outcome = FormOutcome(f"{fault['loc'][-1] if fault['loc'] else 'rule'}: {fault['msg']}.", failed=True)
    except ValueError:
        outcome = FormOutcome("The form could not be read.", failed=True)
    return await show_alerts(sources, visit, outcome)


async def _carry_out(administration: AlertAdministration, visit: Visit, form: Form) -> FormOutcome:
    project, by = visit.project, visit.caller.subject
    if "remove" in form:
        name = form.field("remove")
        await administration.remove_rule(project, name, by)
        return FormOutcome(f"The rule {name} was removed.")
    if "channel" in form:
        return await _set_channel(administration, visit, form)
    if "remove_channel" in form:
        name = form.field("remove_channel")
        await administration.remove_channel(project, name, by)
        return FormOutcome(f"The channel {name} was removed.")
    if "rule" in form:
        name, channels = form.field("rule"), form.get("channels", [])
        await administration.set_rule_channels(project, name, channels, by)
        announced = f"announced in {', '.join(channels)}" if channels else "shown on this page only"
        return FormOutcome(f"Alerts of the rule {name} are {announced}.")
    if "test" in form:
        return await _tested(administration, project, form.field("test"))
    rule = ALERT_RULE.validate_python(_rule_of(form))
    await administration.set_rule(project, rule, by)
    return FormOutcome(f"The rule {rule.name} was saved. It is evaluated every minute.")


async def _set_channel(administration: AlertAdministration, visit: Visit, form: Form) -> FormOutcome:
    """Store a channel. If the form asks, make a first rule for it, add it to all rules, or send a test message."""
    project, caller, address = visit.project, visit.caller, visit.request.url
    base = f"{address.scheme}://{address.netloc}"
    name, kind, url = (form.field(field).strip() for field in ("channel", "channel_kind", "url"))
    channel = await administration.set_channel(project, name, kind, url, base, caller)
    outcome = f"The channel {name} was saved. Select it in a rule."
    if "first_rule" in form:
        rule = ALERT_RULE.validate_python({"kind": "satisfaction_dropped", "name": FIRST_RULE, "channels": [name]})
        await administration.set_rule(project, rule, caller.subject)
        outcome = f"The channel {name} was saved, and the rule {FIRST_RULE} announces in it."
    if "announce" in form:
        count = await administration.add_channel_to_all_rules(project, name, caller.subject)
        rules = "1 rule announces" if count == 1 else f"{count} rules announce"
        outcome = f"The channel {name} was saved, and {rules} in it."
    if channel.secret:
        outcome += f" Its signing key, shown only now: {channel.secret}"
    if "and_test" not in form:
        return FormOutcome(outcome)
    tested = await _tested(administration, project, name)
    return FormOutcome(f"{outcome} {tested.text}", tested.failed)


async def _tested(administration: AlertAdministration, project: Project, channel: str) -> FormOutcome:
    """Send a test message to the channel.

    Raises RequestRefused if the channel does not exist.
    """
    result = await administration.test(project, channel)
    if result.delivered:
        return FormOutcome(f"The channel {channel} accepted the test message.")
    return FormOutcome(f"The test message was not delivered: {result.what}.", failed=True)


def _rule_of(form: Form) -> dict[str, Any]:
    """Return the rule described by a form, as input for validation.

    Percentages become proportions, and empty fields are omitted.
    """
    rule: dict[str, Any] = dict(form.filled)
    if "below" in rule:
        rule["below"] = float(rule["below"]) / 100
    return {**rule, "channels": form.get("channels", [])}


def rule_in_words(rule: AlertRule) -> str:
    """Describe the condition of a rule in a sentence."""
    match rule:
        case ShareRuleSettings():
            each = (
                f"each version of {rule.agent or 'each agent'}" if rule.per == "version" else rule.agent or "each agent"
            )
            by = "people's verdicts" if rule.verdicts == "people" else "machine verdicts"
            if isinstance(rule, SatisfactionBelow):
                return f"Satisfaction with {each} is below {100 * rule.below:.4g}% ({by}, up to {rule.days} days)."
            return f"Satisfaction with {each} dropped from the 28 days before ({by}, up to {rule.days} days)."
        case Silence():
            about = f" on {rule.agent}" if rule.agent is not None else ""
            return f"No feedback{about} for {rule.hours} hours, but at least {rule.least} verdicts a week before."
        case NewIssue():
            of = f" of {rule.agent}" if rule.agent is not None else ""
            people = "1 person" if rule.people == 1 else f"{rule.people:,} people"
            return f"An issue{of} affects {people} or more, and its first rejection is at most {rule.days} days old."
        case RegressedIssue():
            of = f" of {rule.agent}" if rule.agent is not None else ""
            return f"A resolved issue{of} came back."
