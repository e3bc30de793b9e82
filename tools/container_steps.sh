#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What tools/Containerfile runs in a bare Debian 12, with the packages in /tmp/packages: msprobe, and PyTorch in /srv/torch.
set -eu
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends /tmp/packages/msprobe_*.deb python3-venv >/dev/null
python3 -m venv /srv/torch
/srv/torch/bin/pip install --quiet --no-cache-dir "torch==2.13.*" numpy
rm -rf /var/lib/apt/lists/*
