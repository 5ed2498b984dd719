"""The real parts the tests and samples run against: Spark, its connectors, a Kafka broker. Standard library only."""
