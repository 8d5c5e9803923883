"""What is true of the world: frozen values (`model`) and the readers that fill them."""
