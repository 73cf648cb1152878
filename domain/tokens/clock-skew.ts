/** The accepted difference between two correct clocks, in seconds (decisions "Client assertions", "Subject tokens"). */
export const CLOCK_SKEW_SECONDS = 60;
