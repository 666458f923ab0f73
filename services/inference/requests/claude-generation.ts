// The generation of a Claude model, as its name tells it. Pure.

/**
 * Major version, and the minor one as hundredths: 4.05 for "claude-sonnet-4-5-20250929", with or without a provider's prefix and a date.
 * Undefined for names that tell none, other vendors' above all.
 */
export function claudeGeneration(model: string): number | undefined {
  const match = /claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/i.exec(model);
  return match === null ? undefined : Number(match[1]) + Number(match[2] ?? 0) / 100;
}
