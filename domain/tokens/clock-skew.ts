/** How far apart two honest clocks may be, in seconds (decisions "Client assertions", "Subject tokens"). */
export const CLOCK_SKEW_SECONDS = 60;
