"""What is kept in the folder: models, uploaded files, results."""
