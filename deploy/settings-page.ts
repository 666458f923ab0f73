// Generates docs/configuration.md from the settings that the processes read, so that the page is complete and up to date. Pure.
import type { Setting, Settings } from '#kit/config/settings.js';

/** A section of the page. */
export interface SettingsSection {
  readonly title: string;
  /** Names the processes that read these settings. */
  readonly readBy: string;
  readonly settings: Settings;
}

/** Returns the page as Markdown. A setting is listed in the first section that has it; later ones need not leave it out. */
export function settingsPage(sections: readonly SettingsSection[]): string {
  const listed = new Set<string>();
  const tables = sections.map(({ title, readBy, settings }) => {
    const rows = Object.values(settings).filter(({ env }) => !listed.has(env));
    for (const { env } of rows) listed.add(env);
    return `## ${title}\n\n${readBy}\n\n| Variable | Default | Values | Description |\n|---|---|---|---|\n${rows.map(row).join('\n')}\n`;
  });
  return `${head}\n${tables.join('\n')}`;
}

/** Returns the names of the variables that a text mentions, such as TOLLGATE_DATA_DIR. */
export function settingNames(text: string): Set<string> {
  return new Set(text.match(/\b(?:TOLLGATE|OTEL)_(?:<PROCESS>_)?[A-Z0-9]+(?:_[A-Z0-9]+)*\b(?![_*…<])/g));
}

const head = `# Configuration

Tollgate is configured by environment variables, which are read once at startup. If any are invalid, the process does not start and reports all of
those that it reads; in distributed mode, each process reads its own. An unknown variable is also an error, which suggests a similar name. Write durations as "250ms", "30s", "5m" or "1h".

This page is generated from the code (\`deploy/settings-page.ts\`); a test fails when a setting is missing here, or when no process reads one that is listed.
[Operations](operations.md) says which of them matter for an installation of several machines.
`;

function row(setting: Setting<unknown>): string {
  const byDefault = 'default' in setting ? shown(setting) : '**required**';
  return `| \`${setting.env}\` | ${byDefault} | ${valuesOf(setting)} | ${setting.description}${setting.secret === true ? ' (secret)' : ''} |`;
}

function valuesOf({ values }: Setting<unknown>): string {
  if (values === undefined) return '';
  return 'min' in values ? `${values.min} to ${values.max}` : values.map((each) => `\`${each}\``).join(', ');
}

function shown(setting: Setting<unknown>): string {
  const { default: value } = setting;
  const text = value === undefined ? '' : (setting.show?.(value) ?? String(value));
  return text === '' ? 'none' : `\`${text}\``;
}
