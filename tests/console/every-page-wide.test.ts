// Every page on the screen of a desk.
import { lookAtEveryPage } from './every-page.js';

lookAtEveryPage(1280);
