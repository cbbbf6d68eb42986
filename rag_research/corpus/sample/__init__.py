"""The parts of the sample world: invented names, blocks of facts, prose, questions."""
