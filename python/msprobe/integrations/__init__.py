# SPDX-License-Identifier: Apache-2.0
"""Callbacks that record a training run by a library: msprobe.integrations.transformers, .lightning and .accelerate."""
