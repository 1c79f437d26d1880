"""What an audit is asked to do, without SQL, without a database."""
