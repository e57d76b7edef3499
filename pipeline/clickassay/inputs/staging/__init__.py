"""Inputs that lie elsewhere or in another shape, made ordinary files in the scratch folder of the job."""
