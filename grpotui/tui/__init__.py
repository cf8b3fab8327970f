"""The dashboard. What is here beside `widgets` is pure: no Textual, no run, no clock."""
