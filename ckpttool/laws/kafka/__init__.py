"""What Spark does where a Kafka source does not find what its checkpoint says."""
