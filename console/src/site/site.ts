// The script of the public pages, which are complete without it: forms that act at once, and buttons that copy samples.
import { addCopyButtons } from './copy-buttons.js';
import { liveForms } from './live-forms.js';

addCopyButtons();
liveForms();
