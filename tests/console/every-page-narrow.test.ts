// Every page on the screen of a phone.
import { lookAtEveryPage } from './every-page.js';

lookAtEveryPage(375);
