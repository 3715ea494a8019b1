"""From the model to the code: TLC's state graphs, driven through the reference edge by edge."""
