// Writes variables in the form that `node --env-file` reads.

const quotes = ["'", '"', '`'] as const;

/** Returns a line for each variable. A value with a "#" is quoted, because it would end there. */
export function envFile(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .map(([name, value]) => {
      const quote = /[#'"`]/.test(value) ? (quotes.find((each) => !value.includes(each)) ?? '') : '';
      return `${name}=${quote}${value}${quote}\n`;
    })
    .join('');
}
