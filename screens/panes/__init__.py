"""Parts of screens: one tab's content a module."""
