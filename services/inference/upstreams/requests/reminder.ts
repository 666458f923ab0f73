// An instruction in the middle of a conversation, for models that accept instructions only at its beginning. Pure.

/** Returns the instruction as text of the user, marked as Claude's own clients mark theirs. */
export function reminder(instruction: string): string {
  return `<system-reminder>\n${instruction}\n</system-reminder>`;
}
