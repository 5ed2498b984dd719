"""What Spark minds in a checkpoint and around it. Pure: a scene in, answers out."""
