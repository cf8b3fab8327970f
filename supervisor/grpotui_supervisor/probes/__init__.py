"""Programs and probes that run beside the job: single files, standard library only where the job starts them."""
