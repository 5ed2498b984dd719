"""What files tell when they are held against each other, whether or not it stops a restart."""
