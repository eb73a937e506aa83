namespace glint::GLINT_ISA { void placeholder() {} }
