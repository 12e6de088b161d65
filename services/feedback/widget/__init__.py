"""The widget with thumbs, a web component built from `clients/typescript/widget`, and a page that demonstrates it."""
