"""The feedback widget, a web component built from `clients/typescript/widget`, and a page that demonstrates it."""
