"""What a user writes: the KVCachePool models and the CRD generated from them; quantities and names."""
