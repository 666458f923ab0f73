// docs/configuration.md, made from the settings themselves so that it cannot fall behind. Pure.
import type { Setting, Settings } from '#kit/config/settings.js';

/** A part of the page. */
export interface SettingsSection {
  readonly title: string;
  /** Which processes read these. */
  readonly readBy: string;
  readonly settings: Settings;
}

/** The page as Markdown. */
export function settingsPage(sections: readonly SettingsSection[]): string {
  const tables = sections.map(
    ({ title, readBy, settings }) =>
      `## ${title}\n\n${readBy}\n\n| Variable | Default | What it is |\n|---|---|---|\n${Object.values(settings).map(row).join('\n')}\n`,
  );
  return `${head}\n${tables.join('\n')}`;
}

const head = `# Configuration

Everything is set by environment variables, read once at the start. A fault stops the start and every fault is named; so does a variable
that no part knows, with the nearest one that it does. Lengths of time are written "250ms", "30s", "5m" or "1h"; flags "true" or "false".

This page is made from the code (\`deploy/settings-page.ts\`); a test fails when it is out of date.
`;

function row(setting: Setting<unknown>): string {
  const standard = 'default' in setting ? shown(setting) : '**required**';
  return `| \`${setting.env}\` | ${standard} | ${setting.description}${setting.secret === true ? ' (secret)' : ''} |`;
}

function shown(setting: Setting<unknown>): string {
  const { default: value } = setting;
  return value === undefined || value === '' ? 'none' : `\`${setting.show?.(value) ?? String(value)}\``;
}
