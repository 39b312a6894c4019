/* Leaves a pattern on the stack, where the next call finds it. */
unsigned fill_stack(unsigned pattern) {
    volatile unsigned memory[16384];
    for (int index = 0; index < 16384; ++index) memory[index] = pattern;
    return memory[pattern % 16384];
}
