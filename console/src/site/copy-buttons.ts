// Adds a copy button to every sample.
import { copyText } from '../ui/copy-text.js';

const shownMs = 2000;

/** Adds the buttons. Their texts are attributes of the page, which knows its language. */
export function addCopyButtons(): void {
  const { copy = 'Copy', copied = 'Copied' } = document.documentElement.dataset;
  for (const sample of document.querySelectorAll('.code')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = copy;
    button.addEventListener('click', async () => {
      if (!(await copyText(sample.querySelector('code')!.textContent.trimEnd()))) {
        getSelection()?.selectAllChildren(sample.querySelector('code')!);
        return;
      }
      button.textContent = copied;
      setTimeout(() => (button.textContent = copy), shownMs);
    });
    sample.append(button);
  }
}
