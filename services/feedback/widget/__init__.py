"""The thumbs widget: a web component, and a demonstration page."""
