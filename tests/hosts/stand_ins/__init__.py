# SPDX-License-Identifier: Apache-2.0
"""Stand-ins of the programs that people train and serve with: the calls they make to PrecisionDebugger, in the shape of their public sources,
around a model that runs on a CPU. Each names the repository and the path that it stands for."""
