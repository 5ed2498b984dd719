"""Kafka sources beside their brokers: is what the query must read next still there?

`positions` tells what a checkpoint has, `client` asks a broker, `diff` compares the two, `rules` says what Spark does.
"""
