"""Work that takes longer than a request: jobs in processes of their own."""
