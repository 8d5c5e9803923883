"""Provisioners API and Existing: an instance that the Lustre API tells of, and the volume that names it."""
