"""Values that all of reporting shares: filters, rows, cursors, page sizes, response models."""
