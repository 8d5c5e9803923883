"""Google Cloud's APIs: thin asynchronous wrappers of Google's clients."""
