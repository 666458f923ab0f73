// tollgate config: the settings of the CLI, and where each value comes from.
import { Command } from 'commander';
import type { Setting } from '#kit/config/settings.js';
import type { Cli } from '../cli.js';
import { cliSettings } from '../config.js';
import type { View } from '../output.js';

interface Shown {
  readonly setting: Setting<unknown>;
  readonly given: string | undefined;
}

const settingView: View<Shown> = {
  json: ({ setting, given }) => ({
    name: setting.env,
    value: shown(setting, given) ?? defaultOf(setting),
    origin: given === undefined ? 'default' : 'environment',
    default: defaultOf(setting),
    description: setting.description,
  }),
  columns: [
    { title: 'setting', text: ({ setting }) => setting.env },
    { title: 'value', text: ({ setting, given }) => shown(setting, given) ?? defaultOf(setting) ?? '-' },
    { title: 'origin', text: ({ given }) => (given === undefined ? 'default' : 'environment') },
    { title: 'meaning', text: ({ setting }) => setting.description },
  ],
};

function shown(setting: Setting<unknown>, given: string | undefined): string | undefined {
  return given !== undefined && setting.secret === true ? '(secret)' : given;
}

function defaultOf(setting: Setting<unknown>): string | null {
  return setting.default === undefined ? null : String(setting.default);
}

/** The command `config`. It does not need a running gateway. */
export function configCommand(cli: Cli): Command {
  return new Command('config').description('Show the settings of the CLI, where each value comes from, and the defaults.').action(() => {
    const settings: readonly Setting<unknown>[] = Object.values(cliSettings);
    cli.out.list(
      settingView,
      settings.map((setting) => ({ setting, given: cli.world.env[setting.env] || undefined })),
    );
  });
}
