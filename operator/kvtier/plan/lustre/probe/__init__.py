"""The Job that proves that engines can write to the shared tier."""
