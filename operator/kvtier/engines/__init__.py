"""Arguments, environment and cache identity of an engine, per engine version. Pure."""
