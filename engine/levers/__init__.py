"""What finished runs found, on one model: their levers, and answers with a choice of them."""
