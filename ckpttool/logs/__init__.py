"""What people have in their hands when a query has failed: a pasted exception, a driver's log, an event log. Pure."""
