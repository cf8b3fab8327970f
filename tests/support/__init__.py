"""What the tests share: waiting with deadlines, real runs that clean up after themselves, small rank programs."""
