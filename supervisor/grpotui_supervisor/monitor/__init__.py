"""The monitor of one run: it follows the logs, samples the host, and applies the rules.

It also asks the shim to spare the peers of a failed rank while they are still saving. It owns nothing: when it dies the
ranks go on, and the next one says in the record for how long nobody looked.
"""
