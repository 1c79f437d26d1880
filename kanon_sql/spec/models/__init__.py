"""The models of privacy as they are asked: parameters and promises; no SQL."""
