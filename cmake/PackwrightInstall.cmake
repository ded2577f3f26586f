# What `cmake --install` puts where. The parts add their own targets.
