# SPDX-License-Identifier: Apache-2.0
"""The older entry of the collector, for scripts that have `import api_accuracy_checker.dump`."""
