"""Documents to share: a report on runs, and a single item of a run, as HTML, Markdown or LaTeX. No interface."""
