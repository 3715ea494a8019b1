"""Is a client history as consistent as was promised? Plain functions on columns, no Spark."""
