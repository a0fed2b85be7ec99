package nexmark;

/** The generator of java.util.Random without its atomic state, and with jumps over draws nobody reads. */
final class Draws {
    private static final long MULTIPLIER = 0x5DEECE66DL;
    private static final long INCREMENT = 0xBL;
    private static final long MASK = (1L << 48) - 1;
    private static final int MAX_JUMP = 256;
    private static final long[] JUMP_MULTIPLIER = new long[MAX_JUMP];
    private static final long[] JUMP_INCREMENT = new long[MAX_JUMP];

    static {
        JUMP_MULTIPLIER[0] = 1;
        for (int k = 1; k < MAX_JUMP; k++) {
            JUMP_MULTIPLIER[k] = JUMP_MULTIPLIER[k - 1] * MULTIPLIER & MASK;
            JUMP_INCREMENT[k] = JUMP_INCREMENT[k - 1] * MULTIPLIER + INCREMENT & MASK;
        }
    }

    private long state;

    void seed(long seed) {
        state = (seed ^ MULTIPLIER) & MASK;
    }

    long state() {
        return state;
    }

    void restore(long saved) {
        state = saved;
    }

    void skip(int draws) {
        int left = draws;
        for (; left >= MAX_JUMP; left -= MAX_JUMP - 1) {
            state = state * JUMP_MULTIPLIER[MAX_JUMP - 1] + JUMP_INCREMENT[MAX_JUMP - 1] & MASK;
        }
        state = state * JUMP_MULTIPLIER[left] + JUMP_INCREMENT[left] & MASK;
    }

    private int next(int bits) {
        state = state * MULTIPLIER + INCREMENT & MASK;
        return (int) (state >>> 48 - bits);
    }

    int nextInt() {
        return next(32);
    }

    int nextInt(int bound) {
        int draw = next(31);
        if ((bound & bound - 1) == 0) {
            return (int) ((long) bound * draw >> 31);
        }
        int value = draw % bound;
        while (draw - value + (bound - 1) < 0) {
            draw = next(31);
            value = draw % bound;
        }
        return value;
    }

    long nextLong(long bound) {
        if (bound < Integer.MAX_VALUE) {
            return nextInt((int) bound);
        }
        long draw = ((long) next(32) << 32) + next(32);
        return Math.abs(draw % bound);
    }

    double nextDouble() {
        return (((long) next(26) << 27) + next(27)) * 0x1.0p-53;
    }
}
