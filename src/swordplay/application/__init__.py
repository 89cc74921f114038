"""From a table to predictions and their report: tracking, contests, the page, and the commands that start them."""
