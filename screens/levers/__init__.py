"""All levers on one question."""
