"""The door to Google Cloud: thin asynchronous wrappers of the Google clients."""
