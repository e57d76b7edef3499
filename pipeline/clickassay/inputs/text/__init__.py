"""Text files of other tools: opened, recognised, their columns and grades named."""
