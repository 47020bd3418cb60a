"""Token ids on disk to padded tensors."""
