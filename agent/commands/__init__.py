"""The sub-commands of `loopscope`, one a module."""
