"""The older entry of the collector, for scripts that have `import api_accuracy_checker.dump`."""
