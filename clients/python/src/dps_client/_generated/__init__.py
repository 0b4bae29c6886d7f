"""Written from the service's contracts by `make clients`."""
