package nexmark;

import static java.nio.charset.StandardCharsets.US_ASCII;

/** Channels and the urls that belong to them: first the four hot ones, then the numbered ones. */
final class Urls {
    static final int HOT = 4;
    static final int NUMBERED = 10_000;
    static final byte[][] CHANNELS = new byte[HOT + NUMBERED][];
    static final byte[][] URLS = new byte[HOT + NUMBERED][];

    static {
        Draws draws = new Draws();
        draws.seed(0);
        String[] names = {"Google", "Facebook", "Baidu", "Apple"};
        for (int i = 0; i < HOT; i++) {
            CHANNELS[i] = names[i].getBytes(US_ASCII);
            URLS[i] = url(draws).getBytes(US_ASCII);
        }
        for (int channel = 0; channel < NUMBERED; channel++) {
            String url = url(draws);
            if (draws.nextInt(10) > 0) {
                url += "&channel_id=" + Math.abs(Integer.reverse(channel));
            }
            CHANNELS[HOT + channel] = ("channel-" + channel).getBytes(US_ASCII);
            URLS[HOT + channel] = url.getBytes(US_ASCII);
        }
    }

    private Urls() {}

    private static String url(Draws draws) {
        String path = word(draws) + "/" + word(draws) + "/" + word(draws);
        return "https://www.nexmark.com/" + path + "/item.htm?query=1";
    }

    private static String word(Draws draws) {
        byte[] letters = new byte[5];
        int length = Words.draw(draws, 5, (byte) '_', letters);
        return new String(letters, 0, length, US_ASCII).trim();
    }
}
