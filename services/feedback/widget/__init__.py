"""The thumbs widget: one web component, and a page that shows it at work."""
