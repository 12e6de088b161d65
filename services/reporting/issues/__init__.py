"""Issues: an agent's rejected turns grouped by topic, with titles, trends and proofs of resolution."""
