"""Issues: an agent's rejected turns grouped by topic, with titles and trends."""
