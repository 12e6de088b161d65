"""Service that converts received feedback to rewards, and stores and announces feedback records."""
