"""Terminal chat with an agent that receives the user's feedback on its answers."""
