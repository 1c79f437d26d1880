"""The privacy models, without SQL, without a database."""
