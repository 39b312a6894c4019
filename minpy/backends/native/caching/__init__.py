"""Plans of native programs that are kept from process to process, and the keys by which they are found."""
