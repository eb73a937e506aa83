"""Trains a small model of digits, reads one class and explains one image."""

import glint

run: glint.Run = glint.train("quick", epochs=2, d_model=32, progress=False)
print(f"accuracy {run.metrics[-1]['test_accuracy']:.3f}")
form: glint.Form = run.read(3)
print(form)
print(run.explain(7).verdict)
