"""Turns chat events into feedback events: finds out which agent message a reply or reaction is about."""
