"""What is installed, what a server can do, whether a configuration is right."""
