"""Client for language models that offer OpenAI's chat completions API."""
