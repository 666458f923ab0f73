// Reads the generation of a Claude model from its name. Pure.

/**
 * Returns the major version plus the minor one as hundredths: 4.05 for "claude-sonnet-4-5-20250929", with or without a provider's prefix and a date.
 * Returns undefined for names without a generation, in particular those of other vendors.
 */
export function claudeGeneration(model: string): number | undefined {
  const match = /claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/i.exec(model);
  return match === null ? undefined : Number(match[1]) + Number(match[2] ?? 0) / 100;
}
