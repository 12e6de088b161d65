"""Optional gate that asks a language model about messages that no rule decides."""
