"""One verdict on how a query is: a diagnosis told check by check, with what mends each finding."""
