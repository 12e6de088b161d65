"""The thumbs widget, a web component bundled from `clients/typescript/widget`, and its demonstration page."""
