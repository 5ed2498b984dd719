"""What runs inside Spark: the only package that imports pyspark."""
