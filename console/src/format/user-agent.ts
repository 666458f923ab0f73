// Names the browser of a User-Agent header, so that users recognise their own. Pure.

// The more specific names first: most browsers name others too.
const browsers: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:e|A|iOS)?\/(\d+)/, 'Edge'],
  [/\b(?:OPR|Opera)\/(\d+)/, 'Opera'],
  [/\bFirefox\/(\d+)|\bFxiOS\/(\d+)/, 'Firefox'],
  [/\b(?:HeadlessChrome|Chrome|CriOS)\/(\d+)/, 'Chrome'],
  [/\bVersion\/(\d+)[\d.]* (?:Mobile\/\S+ )?Safari\//, 'Safari'],
  [/^curl\/(\d+)/, 'curl'],
];

const systems: readonly (readonly [RegExp, string])[] = [
  [/\bAndroid\b/, 'Android'],
  [/\b(?:iPhone|iPad)\b/, 'iOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

/** Returns for example `Firefox 140 · Linux`; undefined for an unknown browser. */
export function browserName(userAgent: string): string | undefined {
  for (const [form, name] of browsers) {
    const match = form.exec(userAgent);
    if (match === null) continue;
    const system = systems.find(([known]) => known.test(userAgent))?.[1];
    return `${name} ${match.slice(1).find((version) => version !== undefined)}${system === undefined ? '' : ` · ${system}`}`;
  }
  return undefined;
}
