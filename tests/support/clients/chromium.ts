// Runs page tests in a real browser, Debian's Chromium without its windows, through playwright-core. A test fails if a page logs an error.
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from 'playwright-core';
import { eventually } from '../systems/process.js';
import type { System } from '../systems/system.js';

export type { Page } from 'playwright-core';

/** The appearance of a window. */
export interface Look {
  readonly theme?: 'light' | 'dark';
  readonly width?: number;
  readonly height?: number;
  readonly language?: 'en' | 'zh-CN';
  /** IANA name, for example Asia/Kolkata. */
  readonly timeZone?: string;
}

/** A user's browser, which keeps cookies between its pages. */
export interface Person {
  readonly context: BrowserContext;
  /** Opens a page of the console, for example `/accounts/…/keys`, and waits until it has its heading. */
  open(path: string): Promise<Page>;
  /** Does the same in one window, which is half the work of opening another, and leaves no window behind that keeps refreshing its page. */
  show(path: string): Promise<Page>;
  /** The errors that pages logged: thrown errors, refused scripts and styles, failed requests for files. */
  readonly faults: readonly string[];
  close(): Promise<void>;
}

const screensFolder = join(import.meta.dirname, '../../../screens');

/** Starts the browser; once per test file. */
export async function startChromium(options: readonly string[] = []): Promise<Browser> {
  const executablePath = process.env['TOLLGATE_TEST_CHROMIUM'] ?? '/usr/bin/chromium-headless-shell';
  const args = [
    // The sandbox does not work as root, for example in a container.
    '--no-sandbox',
    '--disable-gpu',
    '--disable-dev-shm-usage',
    // Most pages are open for seconds, in which optimised code costs more than it saves.
    '--js-flags=--single-threaded --no-turbofan',
  ];
  return chromium.launch({ executablePath, args: [...args, ...options] });
}

/** Opens a new user's browser, signed out. `address` is the gateway's address. */
export async function newPerson(browser: Browser, address: string, look: Look = {}): Promise<Person> {
  const context = await browser.newContext({
    baseURL: `${address}/`,
    viewport: { width: look.width ?? 1280, height: look.height ?? 800 },
    colorScheme: look.theme ?? 'light',
    locale: look.language ?? 'en',
    timezoneId: look.timeZone ?? 'UTC',
    ignoreHTTPSErrors: true,
    reducedMotion: 'reduce',
  });
  context.setDefaultTimeout(15_000);
  const faults: string[] = [];
  context.on('weberror', (error) => faults.push(`thrown: ${error.error().message}`));
  context.on('console', (message) => {
    // The browser itself logs refused requests; showing them is up to the page.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) faults.push(`logged: ${message.text()}`);
  });
  const open = async (path: string): Promise<Page> => {
    const page = await context.newPage();
    await goTo(page, path);
    return page;
  };
  let shown: Page | undefined;
  return {
    context,
    faults,
    open,
    async show(path) {
      if (shown === undefined) return (shown = await open(path));
      await goTo(shown, path);
      return shown;
    },
    close: () => context.close(),
  };
}

/** Loads a page of the console in an open window, which is half the work of a new window, and waits until it has its heading. */
export async function goTo(page: Page, path: string): Promise<void> {
  // Changing only the fragment of an address would not load the page.
  if (page.url() !== 'about:blank') await page.goto('about:blank');
  await page.goto(`console${path}`);
  await page.locator('h1').first().waitFor();
}

/**
 * Shows a page of the console in a window that shows another, as a link would: a third of the work of loading it. Waits until it has its
 * heading. `prepare` changes the window while it shows neither of them.
 */
export async function follow(page: Page, path: string, prepare?: () => Promise<void>): Promise<void> {
  const heading = page.locator('h1');
  const notFound = heading.filter({ hasText: 'Page not found' });
  const show = (to: string): Promise<void> => page.evaluate((address) => history.pushState({}, '', address), `/console${to}`);
  // By way of the page for unknown addresses, so that no dialog stays open and the heading is the new page's.
  await show('/unknown');
  await notFound.first().waitFor();
  await prepare?.();
  await show(path);
  await notFound.first().waitFor({ state: 'detached' });
  await heading.first().waitFor();
}

/** Opens a new user's browser, signed in through the API. */
export async function newMember(
  browser: Browser,
  system: Pick<System, 'baseUrl'>,
  who: { email: string; password: string },
  look: Look = {},
): Promise<Person> {
  const person = await newPerson(browser, system.baseUrl, look);
  const response = await person.context.request.post('console/api/session', { data: who, headers: { 'x-tollgate-console': '1' } });
  if (!response.ok()) throw new Error(`${who.email} could not sign in: ${response.status()} ${await response.text()}`);
  return person;
}

/** Returns the open dialog; toasts have the role of dialogs too, but are not modal. */
export const popup = (page: Page): Locator => page.locator('[role=dialog]:not([aria-modal=false])');

/** Clicks a button twice without a gap, before the page can show the effect of the first click. */
export async function pressTwice(button: Locator): Promise<void> {
  await button.evaluate((element: HTMLElement) => {
    element.click();
    element.click();
  });
}

/** Returns a fact in a list of names and values. */
export const fact = (page: Page, name: string): Locator =>
  page.locator('dl > div', { has: page.locator('dt', { hasText: new RegExp(`^${name}$`) }) });

/**
 * Waits until an assertion about a page holds, because a page shows what changed only after it has loaded it. Throws the last failure.
 * Not for what must never appear, not even briefly: such an assertion reads the page once.
 */
export const expectSoon = (assertion: () => Promise<void>): Promise<true> => eventually(() => assertion().then(() => true));

/** Waits until the page has loaded its data: nothing is loading and no response has been outstanding for a moment. */
export async function settledPage(page: Page): Promise<void> {
  await page.waitForFunction(
    () =>
      document.querySelector('h1') !== null &&
      ![...document.querySelectorAll('[role=status]')].some((each) => /Loading|加载中/.test(each.textContent ?? '')),
  );
  await page.waitForTimeout(150);
}

/** Less than half as long as the package's `source`, because a page that is checked has to parse it. */
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const everyRule = { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] };
/** The rules whose result depends on colours; they are also in `everyRule`. */
const colourRules = ['color-contrast', 'link-in-text-block'];
const axeOptions = {
  all: { runOnly: everyRule },
  colours: { runOnly: { type: 'rule', values: colourRules } },
  layout: { runOnly: everyRule, rules: Object.fromEntries(colourRules.map((rule) => [rule, { enabled: false }])) },
} as const;

/**
 * Returns a description of every axe rule that the page violates, including its open dialogs. For a page that was already checked, `colours`
 * runs only the rules that depend on the theme, and `layout` the others.
 */
export async function accessibilityFaults(page: Page, rules: 'all' | 'colours' | 'layout' = 'all'): Promise<string[]> {
  // Once per page, because loading it takes longer than the check.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe);
  const violations = await page.evaluate(async (options) => {
    // Where it was scrolled to depends on the fonts of the machine, and the bar at the top may cover half of a link.
    scrollTo(0, 0);
    const runner = (
      globalThis as unknown as {
        axe: {
          run(options: object): Promise<{ violations: { id: string; help: string; nodes: { html: string; failureSummary?: string }[] }[] }>;
        };
      }
    ).axe;
    const result = await runner.run({ ...options, resultTypes: ['violations'] });
    return result.violations.map(({ id, help, nodes }) => ({
      id,
      help,
      nodes: nodes.map(({ html, failureSummary }) => `${html.slice(0, 200)} ${failureSummary ?? ''}`),
    }));
  }, axeOptions[rules]);
  return violations.map(({ id, help, nodes }) => `${id}: ${help}\n  ${nodes.slice(0, 3).join('\n  ')}`);
}

/** Switches the page to a theme, as if the system setting had changed, and waits until it is painted. */
export async function showTheme(page: Page, theme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme: theme });
  // The console sets an attribute for the theme; the public pages do not.
  await page.waitForFunction((wanted) => [undefined, wanted as string].includes(document.documentElement.dataset['theme']), theme);
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
}

/** Returns by how many pixels the page can be scrolled sideways. */
export function sidewaysScroll(page: Page): Promise<number> {
  return page.evaluate(() => Math.max(0, document.documentElement.scrollWidth - innerWidth));
}

/** Returns the text of table cells and code that pass the edge of their column or block. */
export function overflows(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll('main :is(td, th, pre)')]
      .filter((each) => each.clientWidth > 1 && each.scrollWidth > each.clientWidth)
      .map((each) => `${each.textContent.trim().slice(0, 80)}: ${each.scrollWidth} > ${each.clientWidth}`),
  );
}

/** Saves a screenshot of the page in the folder screens/, which git ignores, if TOLLGATE_TEST_SCREENS=1. */
export async function screenshot(page: Page, name: string): Promise<void> {
  if (process.env['TOLLGATE_TEST_SCREENS'] !== '1') return;
  mkdirSync(screensFolder, { recursive: true });
  await page.screenshot({ path: join(screensFolder, `${name}.png`) });
}
