"""A language model that is asked where no rule alone decides."""
