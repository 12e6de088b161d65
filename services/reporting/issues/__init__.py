"""Issues: rejected turns of an agent grouped by topic, with titles, trends and proof of resolution."""
