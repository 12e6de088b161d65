"""Service that converts replies and reactions in chats to feedback on the agents' messages."""
