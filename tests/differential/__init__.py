"""Our reading and our predictions against those of real Spark, which is always right."""
