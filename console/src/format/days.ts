// Days as sums are cut into them: by one offset from UTC, which is named beside them. Pure.

const dayMs = 86_400_000;

/** When the day began that was so many days ago; 0 is today. */
export function dayStart(daysAgo: number, offsetMinutes: number, nowMs: number = Date.now()): Date {
  const offsetMs = offsetMinutes * 60_000;
  return new Date((Math.floor((nowMs + offsetMs) / dayMs) - daysAgo) * dayMs - offsetMs);
}

/** The days from so many ago until today, as the API names them: `2027-01-31`. */
export function dayNames(days: number, offsetMinutes: number, nowMs: number = Date.now()): string[] {
  return Array.from({ length: days }, (_, index) => new Date(dayStart(days - 1 - index, offsetMinutes, nowMs).getTime() + offsetMinutes * 60_000).toISOString().slice(0, 10));
}
