// Requests an erasure after the id was typed again, and shows the progress of each service. Forbids or allows training.
"use strict";

{
  const BETWEEN_MS = 1000;
  const card = document.getElementById("erasure");
  const state = document.getElementById("erasure-state");
  const form = document.getElementById("erase");
  const { tenant, user, request } = card.dataset;
  const place = `/tenants/${encodeURIComponent(tenant)}`;

  const ask = async (method, path, body) => {
    const headers = body ? { "Content-Type": "application/json" } : {};
    const answer = await fetch(path, { method, body: body && JSON.stringify(body), headers, credentials: "same-origin" });
    if (answer.status === 404) return null;
    const said = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Error(said.detail ?? `The service answered ${answer.status}.`);
    return said;
  };

  const follow = async (id) => {
    for (;;) {
      try {
        const found = await ask("GET", `${place}/erasures/${encodeURIComponent(id)}`);
        for (const one of found?.receipts ?? []) {
          const rows = one.removed === 1 ? "1 row" : `${one.removed} rows`;
          card.querySelector(`[data-service="${CSS.escape(one.service)}"]`).textContent = `erased, ${rows}`;
        }
        if (found?.complete) {
          state.textContent = `Every service has erased ${found.user_id}.`;
          return;
        }
        state.textContent = "Waiting for the services.";
      } catch (error) {
        state.textContent = error instanceof TypeError ? "The service does not respond. Retrying." : error.message;
      }
      await new Promise((done) => setTimeout(done, BETWEEN_MS));
    }
  };

  form?.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (form.elements.again.value !== user) {
      state.textContent = "The two ids differ. Nothing was erased.";
      form.elements.again.focus();
      return;
    }
    form.querySelector("button").disabled = true;
    try {
      const accepted = await ask("DELETE", `${place}/users/${encodeURIComponent(user)}`);
      location.assign(`/dashboard/erase?${new URLSearchParams({ tenant, request: accepted.request_id })}`);
    } catch (error) {
      form.querySelector("button").disabled = false;
      state.textContent = error instanceof TypeError ? "The service does not respond. Nothing was erased." : error.message;
    }
  });

  const training = document.getElementById("training");
  training?.addEventListener("submit", async (event) => {
    event.preventDefault();
    const allowed = training.dataset.allowed === "false";
    training.querySelector("button").disabled = true;
    try {
      await ask("PUT", `${place}/users/${encodeURIComponent(user)}/training`, { allowed });
      state.textContent = `Training on the data of ${user} is now ${allowed ? "allowed" : "forbidden"}.`;
    } catch (error) {
      training.querySelector("button").disabled = false;
      state.textContent = error instanceof TypeError ? "The service does not respond. Nothing was changed." : error.message;
    }
  });

  for (const button of card.querySelectorAll("button")) button.disabled = false;  // a click before would be lost
  if (request) follow(request);
}
