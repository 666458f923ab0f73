// Generates docs/configuration.md from the settings in the code, so that the page is always up to date. Pure.
import type { Setting, Settings } from '#kit/config/settings.js';

/** A section of the page. */
export interface SettingsSection {
  readonly title: string;
  /** Names the processes that read these settings. */
  readonly readBy: string;
  readonly settings: Settings;
}

/** Returns the page as Markdown. */
export function settingsPage(sections: readonly SettingsSection[]): string {
  const tables = sections.map(
    ({ title, readBy, settings }) =>
      `## ${title}\n\n${readBy}\n\n| Variable | Default | Description |\n|---|---|---|\n${Object.values(settings).map(row).join('\n')}\n`,
  );
  return `${head}\n${tables.join('\n')}`;
}

const head = `# Configuration

Tollgate is configured by environment variables, which are read once at the start. If any are invalid, Tollgate does not start and reports all of
them. An unknown variable is also an error, which suggests the nearest known name. Write durations as "250ms", "30s", "5m" or "1h", and flags as "true" or "false".

This page is generated from the code (\`deploy/settings-page.ts\`); a test fails when it is out of date.
`;

function row(setting: Setting<unknown>): string {
  const standard = 'default' in setting ? shown(setting) : '**required**';
  return `| \`${setting.env}\` | ${standard} | ${setting.description}${setting.secret === true ? ' (secret)' : ''} |`;
}

function shown(setting: Setting<unknown>): string {
  const { default: value } = setting;
  return value === undefined || value === '' ? 'none' : `\`${setting.show?.(value) ?? String(value)}\``;
}
