"""Turns an audited table into a release that passes its checks; the source is only ever read."""
