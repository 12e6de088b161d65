"""Issues: rejected turns of an agent grouped by topic, from the first rejection to the proof that it is resolved."""
