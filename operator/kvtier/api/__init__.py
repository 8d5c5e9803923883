"""What a user writes: the KVCachePool models, quantities, names and the CRD made from them."""
