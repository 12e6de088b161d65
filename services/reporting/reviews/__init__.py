"""Random sample of answers for review, and the precision that its reviews show."""
