// Checks every page at the width of a phone.
import { lookAtEveryPage } from './every-page.js';

lookAtEveryPage(375);
