"""Client of language models behind OpenAI's chat completions API."""
