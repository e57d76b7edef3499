"""The engine for logs that outgrow one machine; nothing else imports Spark."""
