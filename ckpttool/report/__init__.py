"""What commands show: `views` make a `document`, and a renderer for each form tells it."""
