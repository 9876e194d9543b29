"""Documents to share: a report on runs, and a single item of a run, as HTML or Markdown. No interface."""
