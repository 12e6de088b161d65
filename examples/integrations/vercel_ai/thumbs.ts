// app/api/thumbs/route.ts: a click on 👍 or 👎 under the message `turnId`.
import { Client } from "@agent-feedback/client";

const place = { tenant: "acme", project: "support" };
const feedback = new Client(process.env.AGENT_FEEDBACK_URL!, { ...place, token: process.env.AGENT_FEEDBACK_TOKEN! });

export async function POST(request: Request): Promise<Response> {
  const { id, userId, turnId, reaction } = await request.json();
  await feedback.submitFeedback(id, turnId, reaction, { user_id: userId });
  return new Response(null, { status: 202 });
}
