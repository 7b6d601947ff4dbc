"""A service over HTTP: bundles behind an API of our own, three that clients already speak, and a page."""
