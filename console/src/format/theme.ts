// The theme: light, dark, or that of the system. public/theme.js applies the choice, before the first paint and later.
import { storedChoice } from './stored-choice.js';

const themes = ['auto', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const choice = storedChoice<Theme>('tollgate.theme', themes, () => 'auto');

/** Returns the chosen theme. */
export const useTheme = choice.use;

/** Chooses the theme. */
export function setTheme(theme: Theme): void {
  choice.set(theme);
  dispatchEvent(new Event('tollgate-theme'));
}
