"""Tables: files and frames in and out, columns as numbers, and the streams that are shipped."""
