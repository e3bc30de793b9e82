"""msprobe: collects what a training computes, call by call, for the precision pre-check."""
