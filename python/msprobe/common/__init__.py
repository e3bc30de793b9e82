# SPDX-License-Identifier: Apache-2.0
"""What the collectors of all frameworks share. Nothing here imports a framework."""
