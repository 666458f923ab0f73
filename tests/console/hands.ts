// Operates a page by pointer or by keyboard, and counts what a user does.
import { expect } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';

/** A way to operate a page. Each method is one action of the user: a click, a filled field, or a chosen option. */
export interface Hands {
  readonly name: 'pointer' | 'keyboard';
  /** The actions so far. */
  readonly actions: number;
  press(target: Locator): Promise<void>;
  type(target: Locator, text: string): Promise<void>;
  choose(option: Locator): Promise<void>;
}

export const handNames = ['pointer', 'keyboard'] as const;

/** The most presses of Tab to a control. The frame of each page has 26 of them for an operator, which the link to the content skips. */
const tabsMax = 50;

/** Returns hands for a page, which have done nothing yet. */
export function handsOn(name: (typeof handNames)[number], page: Page): Hands {
  let actions = 0;
  const act = (how: Operations[keyof Operations]) => async (target: Locator, text?: string) => {
    actions += 1;
    await how(target, text!);
  };
  const { press, type, choose } = name === 'pointer' ? pointer : keyboard(page);
  return {
    name,
    get actions() {
      return actions;
    },
    press: act(press),
    type: act(type),
    choose: act(choose),
  };
}

interface Operations {
  press(target: Locator): Promise<void>;
  type(target: Locator, text: string): Promise<void>;
  choose(option: Locator): Promise<void>;
}

const pointer: Operations = {
  press: (target) => target.click(),
  type: (target, text) => target.fill(text),
  choose: (option) => option.check(),
};

/** Moves the focus from one control to the next, as the browser does, until it reaches the wanted one, where it must be visible. */
function keyboard(page: Page): Operations {
  async function tabTo(target: Locator): Promise<void> {
    await target.waitFor();
    for (let presses = 0; presses <= tabsMax; presses += 1) {
      const focus = await target.evaluate(
        (element) =>
          element === document.activeElement && {
            isVisible: element.matches(':focus-visible'),
            outline: getComputedStyle(element).outlineStyle,
          },
      );
      if (focus !== false) return expect(focus).toEqual({ isVisible: true, outline: 'solid' });
      await page.keyboard.press('Tab');
    }
    throw new Error(`${target.toString()} cannot be reached with ${tabsMax} presses of Tab`);
  }
  return {
    async press(target) {
      await tabTo(target);
      await page.keyboard.press('Enter');
    },
    async type(target, text) {
      await tabTo(target);
      await page.keyboard.press('Control+a');
      await page.keyboard.type(text);
    },
    // A group of radio buttons is one tab stop; the arrow keys choose within it.
    async choose(option) {
      const name = (await option.getAttribute('name'))!;
      await tabTo(page.locator(`input[name="${name}"]:checked`));
      for (let presses = 0; presses < 10 && !(await option.isChecked()); presses += 1) await page.keyboard.press('ArrowLeft');
      expect(await option.isChecked()).toBe(true);
    },
  };
}
