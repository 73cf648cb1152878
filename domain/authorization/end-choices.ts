/** How long a task may last, as a person chooses it (seconds). */

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const SHORTER = [5 * MINUTE, 15 * MINUTE, HOUR, 4 * HOUR, 8 * HOUR, DAY, 7 * DAY];

/**
 * The shortest first; the last one is the agent's own limit.
 *
 * @param longest of the agent's registration
 * @param shortest `Service:Agents:MinTaskTtl`
 */
export function endChoices(longest: number, shortest: number): readonly number[] {
  return [...SHORTER.filter((seconds) => seconds >= shortest && seconds < longest), longest];
}
