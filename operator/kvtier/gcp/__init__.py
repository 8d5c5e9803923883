"""Google Cloud's APIs: thin asynchronous wrappers around Google's clients."""
