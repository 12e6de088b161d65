// app/api/chat/route.ts of a Next.js application: an answer that is streamed, and what agent-feedback learns of it.
import { Client } from "@agent-feedback/client";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { convertToModelMessages, streamText, type UIMessage } from "ai";

const agent = "opening-hours";
const place = { tenant: "acme", project: "support" };
const feedback = new Client(process.env.AGENT_FEEDBACK_URL!, { ...place, token: process.env.AGENT_FEEDBACK_TOKEN! });
const models = createOpenAICompatible({ name: "models", baseURL: process.env.MODELS_URL!, apiKey: process.env.MODELS_KEY });

const textOf = (message: UIMessage) => message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");

export async function POST(request: Request): Promise<Response> {
  const { id, userId, messages }: { id: string; userId: string; messages: UIMessage[] } = await request.json();
  const askedAt = new Date().toISOString();
  const [asked, last] = [messages.at(-1)!, messages.findLast((message) => message.role === "assistant")];
  const previous = last && { message_id: last.id, turn_id: last.id, content: textOf(last), agent_id: agent };
  const text = textOf(asked);
  const planning = await feedback.beforePlanning(id, text, { user_id: userId, agent_id: agent, previous });
  const result = streamText({
    model: models("gpt-5-mini"),
    system: planning?.planner_markdown ?? undefined,
    messages: await convertToModelMessages(messages),
  });
  return result.toUIMessageStreamResponse({
    originalMessages: messages,
    generateMessageId: () => crypto.randomUUID(),
    onFinish: async ({ responseMessage }) => {
      const event = { ...place, topic: "chat.message.ingested", conversationId: id, turnId: responseMessage.id };
      const question = { messageId: asked.id, senderId: userId, senderType: "human", content: text, occurredAt: askedAt };
      const answer = { messageId: responseMessage.id, senderId: agent, senderType: "agent", content: textOf(responseMessage) };
      const messages = [question, { ...answer, agentId: agent, occurredAt: new Date().toISOString() }];
      await feedback
        .ingest(messages.map((message) => ({ ...event, eventId: message.messageId, ...message })))
        .catch((error: Error) => console.error(error.message)); // the person has the answer
    },
  });
}
