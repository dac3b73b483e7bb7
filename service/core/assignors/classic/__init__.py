"""The classic group protocol: one member, the group's leader, assigns for all."""
