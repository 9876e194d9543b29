"""`steer-tui sweep`: a sweep without a console."""
