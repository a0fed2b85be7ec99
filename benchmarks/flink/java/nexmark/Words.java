package nexmark;

import java.util.Arrays;

/** Random text as Beam's generator makes it, as ASCII bytes. */
final class Words {
    private static final int SHORTEST = 3;
    private static final int LETTERS_PER_DRAW = 6;
    private static final int LETTERS = 26;
    private static final int TRIPLE = LETTERS * LETTERS * LETTERS;
    /** Three characters each, for every remainder from -TRIPLE + 1 to TRIPLE - 1. */
    private static final int[] TRIPLES = new int[2 * TRIPLE];

    static {
        for (int value = 1 - TRIPLE; value < TRIPLE; value++) {
            int first = 'a' + value % LETTERS;
            int second = 'a' + value / LETTERS % LETTERS;
            int third = 'a' + value / LETTERS / LETTERS;
            TRIPLES[TRIPLE + value] = first | second << 8 | third << 16;
        }
    }

    private Words() {}

    /** Fills `into` with fewer than `longest` letters and gaps, not yet trimmed, and returns how many there are. */
    static int draw(Draws draws, int longest, byte gap, byte[] into) {
        int length = SHORTEST + draws.nextInt(longest - SHORTEST);
        for (int i = 0; i < length; i++) {
            into[i] = draws.nextInt(13) == 0 ? gap : (byte) ('a' + draws.nextInt(LETTERS));
        }
        return length;
    }

    static byte[] trimmed(byte[] text, int length) {
        int from = 0;
        int to = length;
        while (from < to && text[from] == ' ') {
            from++;
        }
        while (from < to && text[to - 1] == ' ') {
            to--;
        }
        return Arrays.copyOfRange(text, from, to);
    }

    /** Draws how long the padding must be that brings `size` near to `average`; -1 if none is needed. */
    static int paddingLength(Draws draws, int size, int average) {
        if (size > average) {
            return -1;
        }
        int missing = average - size;
        int delta = (int) Math.round(missing * 0.2);
        return missing - delta + (delta == 0 ? 0 : draws.nextInt(2 * delta));
    }

    static int drawsOfPadding(int length) {
        return (Math.max(length, 0) + LETTERS_PER_DRAW - 1) / LETTERS_PER_DRAW;
    }

    /** Makes padding from the draws; a negative draw gives characters below 'a', as Beam's code does. */
    static byte[] padding(Draws draws, int length) {
        byte[] text = new byte[Math.max(length, 0)];
        int full = length - LETTERS_PER_DRAW;
        int i = 0;
        for (; i <= full; i += LETTERS_PER_DRAW) {
            int value = draws.nextInt();
            put(text, i, TRIPLES[TRIPLE + value % TRIPLE]);
            put(text, i + 3, TRIPLES[TRIPLE + value / TRIPLE % TRIPLE]);
        }
        if (i < length) {
            for (int value = draws.nextInt(); i < length; value /= LETTERS) {
                text[i++] = (byte) ('a' + value % LETTERS);
            }
        }
        return text;
    }

    private static void put(byte[] text, int at, int triple) {
        text[at] = (byte) triple;
        text[at + 1] = (byte) (triple >> 8);
        text[at + 2] = (byte) (triple >> 16);
    }
}
