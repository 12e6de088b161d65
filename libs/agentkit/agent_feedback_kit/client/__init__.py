"""HTTP clients, one for asyncio and one that blocks.

Both send the requests that are defined in `calls`, which also parses the responses.
"""
