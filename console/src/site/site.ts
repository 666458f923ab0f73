// The script of the public pages, which also work without it: forms that apply immediately, and buttons that copy samples.
import { addCopyButtons } from './copy-buttons.js';
import { liveForms } from './live-forms.js';

// Not scrollIntoView, which would scroll the page as well.
const list = document.querySelector<HTMLElement>('.pages');
const here = list?.querySelector<HTMLElement>('[aria-current]');
if (list && here && getComputedStyle(list).position === 'sticky') list.scrollTop = here.offsetTop - list.clientHeight / 2;

addCopyButtons();
liveForms();
