"""The assignors of the share group protocol (KIP-932), which the group coordinator runs."""
