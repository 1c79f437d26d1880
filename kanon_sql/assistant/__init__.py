"""The server that answers assistants over the Model Context Protocol."""
