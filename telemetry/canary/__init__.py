"""Two versions live at once, and a test that may be looked at every minute."""
