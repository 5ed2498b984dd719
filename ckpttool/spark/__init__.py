"""What runs inside Spark, with its Python: the only package that imports pyspark."""
