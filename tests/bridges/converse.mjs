// Has the conversation of converse.py with the route handlers of the AI SDK example. Prints the turns and answers as JSON.
import { pathToFileURL } from "node:url";

const [{ POST: chat }, { POST: thumb }] = await Promise.all(process.argv.slice(2).map((file) => import(pathToFileURL(file))));

const timeout = AbortSignal.timeout;
AbortSignal.timeout = (milliseconds) => timeout.call(AbortSignal, Math.max(milliseconds, 5_000)); // behaviour, not speed
const [id, userId] = ["vercel_ai", "ann"];
const post = (handler, body) => handler(new Request("http://app", { method: "POST", body: JSON.stringify({ id, userId, ...body }) }));

async function reply(messages) {
  const lines = (await (await post(chat, { messages })).text()).split("\n");
  const parts = lines.filter((line) => line.startsWith("data: {")).map((line) => JSON.parse(line.slice(6)));
  const text = parts.filter((part) => part.type === "text-delta").map((part) => part.delta).join("");
  return { id: parts.find((part) => part.type === "start").messageId, role: "assistant", parts: [{ type: "text", text }] };
}

const said = (name, text) => ({ id: name, role: "user", parts: [{ type: "text", text }] });
const asked = said("u1", "When does the museum open?");
const first = await reply([asked]);
await post(thumb, { turnId: first.id, reaction: "not_ok" });
const second = await reply([asked, first, said("u2", "No, that's wrong, I asked about Sunday.")]);
await post(thumb, { turnId: second.id, reaction: "ok" });
console.log(JSON.stringify([first, second].map((message) => [message.id, message.parts[0].text])));
