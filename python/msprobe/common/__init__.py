"""What the collectors of all frameworks share. Nothing here imports a framework."""
