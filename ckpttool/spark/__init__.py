"""What runs inside the user's Spark, with its Python; imported by nobody here. Needs nothing but pyspark."""
