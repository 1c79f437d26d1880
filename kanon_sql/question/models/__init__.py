"""The privacy models: parameters, thresholds and sentences; no SQL."""
