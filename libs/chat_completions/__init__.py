"""Client of endpoints with OpenAI's chat completions API, for the services that may ask a language model."""
