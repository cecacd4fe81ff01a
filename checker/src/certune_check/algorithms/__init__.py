"""What the algorithms do: linkage clustering, and the programs on certune's shelf."""
