"""Optional language model that judges messages which no rule decides."""
